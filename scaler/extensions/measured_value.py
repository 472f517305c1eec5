"""What a metric has measured, for extensions that compare or compute with the value itself."""

from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.readings import ExternalValues, Signal
from scaler.algorithm.replicas import external_sum


def measured_milli(signal: Signal, found: MetricDerivation) -> int | None:
    """The value of an Object metric, the sum of an External one, else the average of the pods; None if there is none."""
    value = found.average_milli if found.value_milli is None else found.value_milli
    if value is not None and isinstance(signal.reading, ExternalValues):
        # A target of type AverageValue takes a negative sum for an overflow, as upstream; the value itself has no target.
        return external_sum(signal.reading.values_milli)
    return value
