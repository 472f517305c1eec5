"""One metric of the spec and its reading to a proposal (upstream's `computeReplicasForMetric`).

What upstream reports about a metric is made here: its name in messages, its status, and the layers
around an error.
"""

from collections.abc import Callable

import msgspec

from scaler.algorithm import from_object, from_pods
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.readings import Reading
from scaler.algorithm.unusable import MetricUnusable
from scaler.algorithm.workload import Evaluation, Workload
from scaler.api.autoscaler import (
    MetricSourceType,
    MetricSpec,
    MetricStatus,
)
from scaler.api.metric_references import names_of
from wire.api.quoting import go_quote


class MetricFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed metric: `message` for its event and condition, `error` with the outer layers."""

    reason: str
    message: str
    error: str
    is_spec_error: bool = False
    """Whether the spec is wrong, not the metrics API (upstream's `errSpec`)."""


class Proposal(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one metric proposes; a failed one leaves an empty status in its place."""

    status: MetricStatus
    derivation: MetricDerivation
    failure: MetricFailure | None = None
    fallen_back_from: MetricFailure | None = None
    """The failure in spite of which there is a proposal."""

    @property
    def reported_failure(self) -> MetricFailure | None:
        """The failure that users should know of."""
        return self.failure or self.fallen_back_from


_Evaluate = Callable[[MetricSpec, Reading, Workload], Evaluation]

_EVALUATE: dict[str, tuple[_Evaluate, str]] = {
    MetricSourceType.OBJECT: (from_object.object_metric, "FailedGetObjectMetric"),
    MetricSourceType.PODS: (from_pods.pods_metric, "FailedGetPodsMetric"),
    MetricSourceType.RESOURCE: (from_pods.resource_metric, "FailedGetResourceMetric"),
    MetricSourceType.CONTAINER_RESOURCE: (
        from_pods.container_resource_metric,
        "FailedGetContainerResourceMetric",
    ),
    MetricSourceType.EXTERNAL: (from_object.external_metric, "FailedGetExternalMetric"),
}


def propose(metric: MetricSpec, reading: Reading, workload: Workload) -> Proposal:
    """Evaluate one metric; whatever is wrong with it is a value, so that the others go on."""
    known = _EVALUATE.get(metric.type)
    if known is None:
        message = f"unknown metric source type {go_quote(metric.type)}"
        return _failed(metric, "InvalidMetricSourceType", message, message, is_spec_error=True)
    evaluate, reason = known
    return proposed(metric, lambda: evaluate(metric, reading, workload), reason, _what(metric))


def proposed(
    metric: MetricSpec, evaluate: Callable[[], Evaluation], reason: str, what: str
) -> Proposal:
    """The proposal of an evaluation; `reason` is that of its failure, `what` names the metric in it."""
    layer = f"failed to get {what} metric value"
    try:
        found = evaluate()
    except MetricUnusable as unusable:
        return _failed(metric, reason, unusable.message, f"{layer}: {unusable.error}")
    except (ValueError, OverflowError) as unreadable:
        # A quantity, which only a custom resource lets in.
        return _failed(metric, reason, str(unreadable), f"{layer}: {unreadable}")
    status, derivation = found.status, found.derivation
    if metric.name:
        status = msgspec.structs.replace(status, name=metric.name)
    if metric.is_input:
        derivation = msgspec.structs.replace(derivation, proposal=None, kept="", is_input=True)
    return Proposal(status=status, derivation=derivation)


def _failed(
    metric: MetricSpec, reason: str, message: str, error: str, *, is_spec_error: bool = False
) -> Proposal:
    return Proposal(
        status=MetricStatus(type="", name=metric.name),
        derivation=MetricDerivation(
            type=metric.type,
            name=metric.name or _name(metric),
            failure=message,
            is_spec_error=is_spec_error,
            is_input=metric.is_input,
        ),
        failure=MetricFailure(
            reason=reason, message=message, error=error, is_spec_error=is_spec_error
        ),
    )


def _name(metric: MetricSpec) -> str:
    """`external metric queue_length`, or `External metric` if the spec does not say which metric it is."""
    words = "container resource" if metric.container_resource else metric.type.lower()
    name = next(iter(names_of(metric)), "")
    return f"{words} metric {name}" if name else f"{metric.type} metric"


def _what(metric: MetricSpec) -> str:
    """The metric in the outermost layer of its error."""
    match metric.type:
        case MetricSourceType.OBJECT:
            return "object"
        case MetricSourceType.PODS:
            return "pods"
        case MetricSourceType.RESOURCE:
            return f"{metric.resource.name} resource" if metric.resource else "resource"
        case MetricSourceType.CONTAINER_RESOURCE:
            source = metric.container_resource
            return f"{source.container} container" if source else "container"
        case _:
            return f"{metric.external.metric.name} external" if metric.external else "external"
