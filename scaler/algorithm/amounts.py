"""Quantity text as the numbers that the algorithm computes with."""

from functools import lru_cache

from wire.api.quantity import Quantity


# Targets, requests and tolerances repeat from reconcile to reconcile and from pod to pod.
@lru_cache(8_192)
def quantity(text: str | int | float) -> Quantity:
    """Read a quantity as upstream's UnmarshalJSON does: a JSON number too, and without spaces around it. Raises ValueError."""
    return Quantity.parse(str(text).strip())


def milli(text: str | int | float) -> int:
    """Thousandths as upstream's `MilliValue()`: an int64, rounded away from zero, 0 when it does not fit."""
    return quantity(text).milli_value_int64()


def approximate(text: str | int | float) -> float:
    """Upstream's `AsApproximateFloat64()`: 570m is 0.5700000000000001."""
    return quantity(text).approximate_float()
