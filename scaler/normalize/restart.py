"""A memory that another process left, or that a wall clock was stepped under."""

import msgspec

from scaler.model.memory import Memory, Recommendation, ScaleEvent, StoredMemory
from scaler.model.policy import Policy
from scaler.normalize.history import seeded, with_step

# Less than any period; clocks drift by less than that while a step lasts.
_SAME_SECONDS = 1.0


def restored(
    stored: StoredMemory, policy: Policy, *, replicas: int, now_unix_seconds: float
) -> Memory:
    """Continue where another process stopped, so that every count is as if it had never stopped.

    Its last step is open: it would have stored another one. So it lasted until one period ago, when that process
    would have made its last reconcile. A memory that was stored longer ago than the window does not show whether
    that process ran until now. Then the current count is remembered too, as upstream does after every restart:
    for a steady autoscaler it is the last recommendation anyway.
    """
    steps = sorted(
        (_not_in_the_future(each, now_unix_seconds) for each in stored.recommendations or ()),
        key=lambda each: each.until_unix_seconds,
    )
    memory = Memory(
        recommendations=None,
        scale_up_events=_events_until(stored.scale_up_events, now_unix_seconds),
        scale_down_events=_events_until(stored.scale_down_events, now_unix_seconds),
        scaled_to_zero=stored.scaled_to_zero,
    )
    if not steps:
        return seeded(memory, replicas=replicas, now_unix_seconds=now_unix_seconds)
    stored_at = steps[-1].until_unix_seconds
    stopped_at = max(stored_at, now_unix_seconds - policy.sync_period_seconds)
    steps[-1] = msgspec.structs.replace(steps[-1], until_unix_seconds=stopped_at)
    memory = msgspec.structs.replace(memory, recommendations=tuple(steps))
    if stored_at < now_unix_seconds - policy.scale_down_window_seconds:
        return with_step(memory, replicas, stopped_at)
    return memory


def shifted(memory: Memory, seconds: float) -> Memory:
    """The same ages on a wall clock that was stepped by so much."""
    steps = memory.recommendations
    return msgspec.structs.replace(
        memory,
        recommendations=None
        if steps is None
        else tuple(
            Recommendation(
                replicas=each.replicas,
                since_unix_seconds=each.since_unix_seconds + seconds,
                until_unix_seconds=each.until_unix_seconds + seconds,
            )
            for each in steps
        ),
        scale_up_events=_events_shifted(memory.scale_up_events, seconds),
        scale_down_events=_events_shifted(memory.scale_down_events, seconds),
    )


def restores_alike(stored: Memory, memory: Memory) -> bool:
    """Whether a process that starts from `stored` decides like one that has `memory`.

    The last step is open in both, so a steady autoscaler need not be stored again. Times are the same within a second.
    """
    return (
        stored.scaled_to_zero == memory.scaled_to_zero
        and _alike(stored.scale_up_events, memory.scale_up_events)
        and _alike(stored.scale_down_events, memory.scale_down_events)
        and _restores_steps(stored.recommendations or (), memory.recommendations or ())
    )


def _not_in_the_future(step: Recommendation, now: float) -> Recommendation:
    """Another process' clock may be ahead."""
    return Recommendation(
        replicas=step.replicas,
        since_unix_seconds=min(step.since_unix_seconds, now),
        until_unix_seconds=min(step.until_unix_seconds, now),
    )


def _events_until(events: tuple[ScaleEvent, ...], now: float) -> tuple[ScaleEvent, ...]:
    return tuple(
        msgspec.structs.replace(
            each, happened_at_unix_seconds=min(each.happened_at_unix_seconds, now)
        )
        for each in events
    )


def _events_shifted(events: tuple[ScaleEvent, ...], seconds: float) -> tuple[ScaleEvent, ...]:
    return tuple(
        msgspec.structs.replace(
            each, happened_at_unix_seconds=each.happened_at_unix_seconds + seconds
        )
        for each in events
    )


def _alike(stored: tuple[ScaleEvent, ...], events: tuple[ScaleEvent, ...]) -> bool:
    return len(stored) == len(events) and all(
        one.replica_change == other.replica_change
        and abs(one.happened_at_unix_seconds - other.happened_at_unix_seconds) <= _SAME_SECONDS
        for one, other in zip(stored, events, strict=True)
    )


def _restores_steps(stored: tuple[Recommendation, ...], steps: tuple[Recommendation, ...]) -> bool:
    """Steps that no window needs any more may be missing from `steps`."""
    if not stored or not steps:
        return not steps
    if stored[-1].replicas != steps[-1].replicas:
        return False
    ends = {each.replicas: each.until_unix_seconds for each in stored[:-1]}
    return all(
        each.replicas in ends
        and abs(ends[each.replicas] - each.until_unix_seconds) <= _SAME_SECONDS
        for each in steps[:-1]
    )
