"""The memory of the fields that only a LoadAutoscaler has, after a restart or a step of the clock."""

from collections.abc import Iterator

import msgspec

from scaler.algorithm.memory import NOTHING_REMEMBERED, ExtensionMemory, MetricRecord

# Less than any period; clocks drift by less than that while a step lasts.
SAME_SECONDS = 1.0


def extension_times(memory: ExtensionMemory) -> Iterator[float]:
    """Every time in it."""
    times = (
        memory.inactive_since_unix_seconds,
        *(each.failing_since_unix_seconds for each in memory.metrics),
        *(each.measured_at_unix_seconds for each in memory.metrics),
        None if memory.panic is None else memory.panic.over_at_unix_seconds,
    )
    return (each for each in times if each is not None)


def extensions_shifted(memory: ExtensionMemory, seconds: float) -> ExtensionMemory:
    """The same ages on a wall clock that was stepped by so much."""
    return msgspec.structs.replace(
        memory,
        inactive_since_unix_seconds=_shifted(memory.inactive_since_unix_seconds, seconds),
        metrics=tuple(
            msgspec.structs.replace(
                each,
                failing_since_unix_seconds=_shifted(each.failing_since_unix_seconds, seconds),
                measured_at_unix_seconds=_shifted(each.measured_at_unix_seconds, seconds),
            )
            for each in memory.metrics
        ),
        panic=memory.panic
        and msgspec.structs.replace(
            memory.panic, over_at_unix_seconds=memory.panic.over_at_unix_seconds + seconds
        ),
    )


def extensions_alike(stored: ExtensionMemory | None, memory: ExtensionMemory | None) -> bool:
    """Whether a process that starts from `stored` decides like one that has `memory`.

    The last value of a metric counts only while it fails, so it need not be stored again each time it is measured.
    """
    if stored is memory:
        return True
    one, other = stored or NOTHING_REMEMBERED, memory or NOTHING_REMEMBERED
    return (
        _same(one.inactive_since_unix_seconds, other.inactive_since_unix_seconds)
        and _failing(one) == _failing(other)
        and _highest(one) == _highest(other)
    )


def _highest(memory: ExtensionMemory) -> int | None:
    """While a panic lasts the time goes on by itself; a restart shortens it by one write of the status at most."""
    return None if memory.panic is None else memory.panic.highest


def _failing(memory: ExtensionMemory) -> dict[str, tuple[int | None, ...]]:
    return {
        each.name: (
            _whole(each.failing_since_unix_seconds),
            each.last_value_milli,
            _whole(each.measured_at_unix_seconds),
        )
        for each in memory.metrics
        if each.failing_since_unix_seconds is not None
    }


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= SAME_SECONDS


def _shifted(time: float | None, seconds: float) -> float | None:
    return None if time is None else time + seconds


def record_of(memory: ExtensionMemory, name: str) -> MetricRecord:
    """What is remembered of a metric, an empty record for a new one."""
    for each in memory.metrics:
        if each.name == name:
            return each
    return MetricRecord(name=name)
