"""Pure: which command explains a metric that has failed."""

from scaler.algorithm.derivation import Derivation
from scaler.algorithm.simulated_readings import SIMULATED_FAILURE


def with_hint(text: str, derivation: Derivation, short_kind: str) -> str:
    """The explanation of a decision, with that command if a metric has failed."""
    failures = [each.failure for each in derivation.metrics if each.failure]
    if all(SIMULATED_FAILURE in each for each in failures):
        return text
    namespace, _, name = derivation.autoscaler.partition("/")
    return f"{text}\nSee: kubectl loadline explain {short_kind}/{name} -n {namespace}"
