"""Which metrics are active: above their activation value, as a scaler of KEDA (`activationThreshold`)."""

from collections.abc import Sequence

from scaler.algorithm.amounts import milli
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.propose import Proposal
from scaler.api.autoscaler import MetricSpec
from scaler.extensions.scale_to_zero.activity_of_metrics import Activity


def activity(metrics: Sequence[MetricSpec], proposals: Sequence[Proposal]) -> Activity:
    """The activity of the metrics that scale; `proposals` are theirs, in the same order."""
    active: list[str] = []
    unknown = False
    for metric, proposal in zip(metrics, proposals, strict=True):
        found = proposal.derivation
        if metric.is_input:
            continue
        value = _value_milli(found)
        if value is not None:
            is_active = value > milli(metric.activation_value or 0)
        elif proposal.failure is not None:
            unknown = True
            continue
        else:
            # A fallback without a value.
            is_active = (found.proposal or 0) > 0
        if is_active:
            active.append(metric.name or found.name)
    return Activity(active=tuple(active), unknown=unknown)


def _value_milli(metric: MetricDerivation) -> int | None:
    """The value of an Object or External metric, else the average of the pods."""
    return metric.average_milli if metric.value_milli is None else metric.value_milli
