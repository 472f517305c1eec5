"""Pure: whether metric values have moved by so little that a status with the previous ones is still good.

With ever-changing metrics nearly every reconcile would write a status that says nothing new.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.amounts import approximate
from scaler.api.autoscaler import MetricStatus, MetricValueStatus

# A value that has moved by more than this part of the written one is news.
MOVED_RATIO = 0.1

_NO_VALUE = MetricValueStatus()


def moved_little(written: Sequence[MetricStatus], new: Sequence[MetricStatus]) -> bool:
    """Whether both have the same metrics, and each value differs by at most a tenth of the written one."""
    return len(written) == len(new) and all(map(_moved_little, written, new))


def _moved_little(written: MetricStatus, new: MetricStatus) -> bool:
    (before, old_value), (after, new_value) = _split(written), _split(new)
    return before == after and all(
        _is_near(getattr(old_value, name), getattr(new_value, name))
        for name in MetricValueStatus.__struct_fields__
    )


def _split(status: MetricStatus) -> tuple[MetricStatus, MetricValueStatus]:
    """The metric without its value, and the value; a metric that failed has none."""
    for name in MetricStatus.__struct_fields__:
        source = getattr(status, name)
        if hasattr(source, "current"):
            without = msgspec.structs.replace(source, current=_NO_VALUE)
            return msgspec.structs.replace(status, **{name: without}), source.current
    return status, _NO_VALUE


def _is_near(written: str | int | float | None, new: str | int | float | None) -> bool:
    if written == new:
        return True
    if written is None or new is None:
        return False
    try:
        before, after = approximate(written), approximate(new)
    except ValueError:
        return False
    return abs(after - before) <= MOVED_RATIO * abs(before)
