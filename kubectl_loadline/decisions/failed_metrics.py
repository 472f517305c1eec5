"""Pure: which command explains a metric that has failed."""

from scaler.algorithm.derivation import Derivation, MetricDerivation
from scaler.algorithm.simulated_readings import SIMULATED_FAILURE
from scaler.api.autoscaler import MetricSourceType


def with_hint(text: str, derivation: Derivation, short_kind: str) -> str:
    """The explanation of a decision, with that command if a metric has failed."""
    if not any(map(_can_be_explained, derivation.metrics)):
        return text
    namespace, _, name = derivation.autoscaler.partition("/")
    return f"{text}\nSee: kubectl loadline explain {short_kind}/{name} -n {namespace}"


def _can_be_explained(metric: MetricDerivation) -> bool:
    """Whether the metric was requested: not if the spec is wrong, or the failure is simulated."""
    is_requested = not metric.is_spec_error and metric.type != MetricSourceType.FORMULA
    return bool(metric.failure) and is_requested and SIMULATED_FAILURE not in metric.failure
