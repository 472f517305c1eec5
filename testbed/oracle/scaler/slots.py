"""Upstream's slots as our memory, and what of either form can still decide.

Upstream keeps one recommendation per sync; our memory keeps the steps that can still be the highest or the lowest of
a window. Scale events are the same in both.
"""

from collections.abc import Iterable

from scaler.algorithm.memory import Memory
from scaler.algorithm.policy import Policy
from scaler.api.history import Recommendation, ScaleEvent
from testbed.oracle.scaler.cases import START_UNIX_SECONDS, Entry, Remembered


def memory_of(remembered: Remembered) -> Memory:
    """Our memory with upstream's content; no recommendations at all means never reconciled."""
    recommendations = tuple(
        Recommendation(
            replicas=each.replicas,
            since_unix_seconds=START_UNIX_SECONDS + each.at_seconds,
            until_unix_seconds=START_UNIX_SECONDS + each.at_seconds,
        )
        for each in deciding(remembered.recommendations or ())
    )
    return Memory(
        recommendations=recommendations or None,
        scale_up_events=_events(remembered.scale_up_events),
        scale_down_events=_events(remembered.scale_down_events),
    )


def remembered_of(memory: Memory) -> Remembered:
    """Our memory in the oracle's form; of a step, only its end decides."""
    return Remembered(
        recommendations=tuple(
            Entry(replicas=each.replicas, at_seconds=each.until_unix_seconds - START_UNIX_SECONDS)
            for each in memory.recommendations or ()
        ),
        scale_up_events=_entries(memory.scale_up_events),
        scale_down_events=_entries(memory.scale_down_events),
    )


def deciding(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The recommendations that can be the highest or the lowest of some window, oldest first.

    Two memories with the same ones decide alike for every window.
    """
    found = list(entries)
    return tuple(
        sorted({e for e in found if _decides(e, found, 1) or _decides(e, found, -1)}, key=_order)
    )


def _decides(entry: Entry, among: Iterable[Entry], sign: int) -> bool:
    """Whether no other one is at least as late and higher (`sign` 1) or lower (-1), or as high and later."""
    return not any(
        each.at_seconds >= entry.at_seconds
        and (sign * each.replicas, each.at_seconds) > (sign * entry.replicas, entry.at_seconds)
        for each in among
    )


def deciding_within(remembered: Remembered, cutoff_seconds: float) -> Remembered:
    """The part that can still decide when nothing older than the cutoff counts; events as they are."""
    recent = (
        each for each in remembered.recommendations or () if each.at_seconds >= cutoff_seconds
    )
    return Remembered(
        recommendations=deciding(recent),
        scale_up_events=remembered.scale_up_events or (),
        scale_down_events=remembered.scale_down_events or (),
    )


def longest_window_seconds(policy: Policy) -> float:
    """How far back a recommendation may still count."""
    if policy.behavior is None:
        return policy.downscale_stabilization_seconds
    return max(policy.behavior.scale_up.window_seconds, policy.behavior.scale_down.window_seconds)


def _order(entry: Entry) -> tuple[float, int]:
    """Two of the same moment have no order of their own."""
    return entry.at_seconds, entry.replicas


def _events(entries: tuple[Entry, ...] | None) -> tuple[ScaleEvent, ...]:
    return tuple(
        ScaleEvent(
            replica_change=each.replicas,
            happened_at_unix_seconds=START_UNIX_SECONDS + each.at_seconds,
            outdated=each.outdated,
        )
        for each in entries or ()
    )


def _entries(events: tuple[ScaleEvent, ...]) -> tuple[Entry, ...]:
    return tuple(
        Entry(
            replicas=each.replica_change,
            at_seconds=each.happened_at_unix_seconds - START_UNIX_SECONDS,
            outdated=each.outdated,
        )
        for each in events
    )
