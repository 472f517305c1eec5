"""Metrics with one value for all pods together: Object and External."""

from scaler.algorithm.amounts import milli
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.metric_selector import metric_selector
from scaler.algorithm.pod_groups import count_ready, require_pods
from scaler.algorithm.readings import ExternalValues, ObjectValue, Reading
from scaler.algorithm.replicas import (
    Whole,
    external_sum,
    external_sum_for_average,
    replicas_for_external_average,
    replicas_for_object_average,
    replicas_for_value,
)
from scaler.algorithm.unusable import MetricUnusable, error_layer, layer
from scaler.algorithm.workload import Evaluation, Workload, unusable_reading
from scaler.api.autoscaler import (
    ExternalMetricSource,
    ExternalMetricStatus,
    MetricIdentifier,
    MetricSourceType,
    MetricSpec,
    MetricStatus,
    MetricTargetType,
    MetricValueStatus,
    ObjectMetricSource,
    ObjectMetricStatus,
    QuantityText,
)
from wire.api.meta import go_string
from wire.api.quantity import format_milli

NO_TARGET = (
    "invalid object metric source: neither a value target nor an average value target was set"
)


def has_object_target(source: ObjectMetricSource) -> bool:
    """Whether the target's type and field belong together; where they do not, upstream requests nothing."""
    target = source.target
    match target.type:
        case MetricTargetType.VALUE:
            return target.value is not None
        case MetricTargetType.AVERAGE_VALUE:
            return target.average_value is not None
    return False


def object_metric(metric: MetricSpec, reading: Reading, workload: Workload) -> Evaluation:
    """One object's value. Type *and* field of the target must fit. Raises MetricUnusable."""
    source = metric.object
    if source is None:
        raise MetricUnusable("invalid object metric source: it is empty")
    metric_selector(source.metric)
    target = source.target
    if target.type == MetricTargetType.VALUE and target.value is not None:
        value_milli = _object_value(source, reading, workload)
        proposed = whole_value(value_milli, target.value, workload, proposes=not metric.is_input)
        current = MetricValueStatus(value=format_milli(proposed.reported_milli))
        name = f"{source.described_object.kind} metric {source.metric.name}"
        target_text = f"value {target.value}"
    elif target.type == MetricTargetType.AVERAGE_VALUE and target.average_value is not None:
        with error_layer(f"failed to get {source.metric.name} object metric"):
            value_milli = _object_value(source, reading, workload)
        proposed = replicas_for_object_average(
            value_milli,
            target_milli=milli(target.average_value),
            status_replicas=workload.status_replicas,
            tolerances=workload.policy.tolerances,
        )
        current = MetricValueStatus(average_value=format_milli(proposed.reported_milli))
        name = _external_name(source.metric)  # upstream calls this one external, too
        target_text = f"average value {target.average_value}"
    else:
        raise MetricUnusable(NO_TARGET)
    status = ObjectMetricStatus(
        metric=_identifier(source.metric),
        current=current,
        described_object=source.described_object,
    )
    return Evaluation(
        status=MetricStatus(type=MetricSourceType.OBJECT, object=status),
        derivation=whole_derivation(MetricSourceType.OBJECT, name, target_text, proposed, workload),
    )


def external_metric(metric: MetricSpec, reading: Reading, workload: Workload) -> Evaluation:
    """The sum of the items. `averageValue` goes before `value`; the type does not count."""
    source = metric.external
    if source is None:
        raise MetricUnusable("invalid external metric source: it is empty")
    if source.target.average_value is not None:
        with error_layer(f"failed to get {source.metric.name} external metric"):
            values = _external_values(source, reading, workload)
        proposed = replicas_for_external_average(
            external_sum(values) if metric.is_input else external_sum_for_average(values),
            target_milli=milli(source.target.average_value),
            status_replicas=workload.status_replicas,
            tolerances=workload.policy.tolerances,
        )
        current = MetricValueStatus(average_value=format_milli(proposed.reported_milli))
        target_text = f"average value {source.target.average_value}"
    elif source.target.value is not None:
        with error_layer(f"failed to get external metric {source.metric.name}"):
            values = _external_values(source, reading, workload)
            proposed = whole_value(
                external_sum(values), source.target.value, workload, proposes=not metric.is_input
            )
        current = MetricValueStatus(value=format_milli(proposed.reported_milli))
        target_text = f"value {source.target.value}"
    else:
        raise MetricUnusable(
            "invalid external metric source: neither a value target nor an average value target was set"
        )
    status = ExternalMetricStatus(metric=_identifier(source.metric), current=current)
    return Evaluation(
        status=MetricStatus(type=MetricSourceType.EXTERNAL, external=status),
        derivation=whole_derivation(
            MetricSourceType.EXTERNAL,
            _external_name(source.metric),
            target_text,
            proposed,
            workload,
        ),
    )


def _object_value(source: ObjectMetricSource, reading: Reading, workload: Workload) -> int:
    if isinstance(reading, ObjectValue):
        return reading.value_milli
    described, name = source.described_object, source.metric.name
    cause = unusable_reading(reading).message
    if workload.policy.upstream.has_object_metric_text:
        where = f"{described.kind} {workload.namespace}/{described.name}"
        raise MetricUnusable(f"unable to get metric {name} on {where}: {cause}")
    # The format string of these versions has its arguments in another order than its words; so the text reads.
    where = f"{described.kind} on {workload.namespace} {described.name}/"
    raise MetricUnusable(f"unable to get metric {name}: {where}{cause}")


def _external_values(
    source: ExternalMetricSource, reading: Reading, workload: Workload
) -> tuple[int, ...]:
    metric_selector(source.metric)
    if isinstance(reading, ExternalValues):
        return reading.values_milli
    name = f"{workload.namespace}/{source.metric.name}/{go_string(source.metric.selector)}"
    with layer(f"unable to get external metric {name}"):
        raise unusable_reading(reading)


def whole_value(
    value_milli: int, target: QuantityText, workload: Workload, *, proposes: bool = True
) -> Whole:
    """A value for all pods together, with a target of type Value. Raises MetricUnusable.

    `proposes`: False if only the value counts, which needs no pods.
    """

    def ready_pods() -> int:
        if proposes:
            with layer("unable to calculate ready pods"):
                require_pods(workload.pods)
        return count_ready(workload.pods)

    return replicas_for_value(
        value_milli,
        target_milli=milli(target),
        current=workload.spec_replicas,
        tolerances=workload.policy.tolerances,
        count_ready=ready_pods,
    )


def _external_name(metric: MetricIdentifier) -> str:
    return f"external metric {metric.name}({go_string(metric.selector)})"


def _identifier(metric: MetricIdentifier) -> MetricIdentifier:
    """What the status repeats of the spec."""
    return MetricIdentifier(name=metric.name, selector=metric.selector)


def whole_derivation(
    type_: str, name: str, target: str, proposed: Whole, workload: Workload
) -> MetricDerivation:
    """How a metric that is one value for all pods was evaluated."""
    return MetricDerivation(
        type=type_,
        name=name,
        target=target,
        value_milli=proposed.value_milli,
        average_milli=None
        if proposed.reported_milli == proposed.value_milli
        else proposed.reported_milli,
        usage_ratio=proposed.ratio,
        tolerances=workload.policy.tolerances,
        ready_pods=proposed.ready_pods,
        kept=proposed.kept,
        proposal=proposed.replicas,
    )
