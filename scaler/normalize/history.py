"""What a look adds to the memory: recommendations and scale events, in upstream's reused slots."""

from scaler.model.memory import Memory, Recommendation, ScaleEvent
from scaler.normalize.rules import Rules


def seeded(memory: Memory, *, replicas: int, now_unix_seconds: float) -> Memory:
    """A first look remembers the current count, so that nothing shrinks before the window has passed."""
    if memory.recommendations is not None:
        return memory
    first = Recommendation(replicas=replicas, made_at_unix_seconds=now_unix_seconds)
    return Memory(
        recommendations=(first,),
        scale_up_events=memory.scale_up_events,
        scale_down_events=memory.scale_down_events,
    )


def with_recommendation(
    memory: Memory, *, replicas: int, before_unix_seconds: float, now_unix_seconds: float
) -> Memory:
    """Remember a recommendation in the last slot that is older than the cutoff, or in a new one."""
    kept = memory.recommendations or ()
    new = Recommendation(replicas=replicas, made_at_unix_seconds=now_unix_seconds)
    slot = max(
        (i for i, each in enumerate(kept) if each.made_at_unix_seconds < before_unix_seconds),
        default=len(kept),
    )
    return Memory(
        recommendations=(*kept[:slot], new, *kept[slot + 1 :]),
        scale_up_events=memory.scale_up_events,
        scale_down_events=memory.scale_down_events,
    )


def with_scale_event(
    memory: Memory, *, before: int, after: int, rules: Rules, now_unix_seconds: float
) -> Memory:
    """Remember a change that was carried out; `rules` are those of its direction."""
    event = ScaleEvent(
        replica_change=abs(after - before), happened_at_unix_seconds=now_unix_seconds
    )
    cutoff = now_unix_seconds - rules.longest_period_seconds
    ups, downs = memory.scale_up_events, memory.scale_down_events
    if after > before:
        ups = _logged(ups, event, cutoff)
    else:
        downs = _logged(downs, event, cutoff)
    return Memory(
        recommendations=memory.recommendations, scale_up_events=ups, scale_down_events=downs
    )


def _logged(
    events: tuple[ScaleEvent, ...], new: ScaleEvent, cutoff: float
) -> tuple[ScaleEvent, ...]:
    """Mark what is too old for every policy, and take the last marked slot, or a new one."""
    marked = [
        ScaleEvent(
            replica_change=each.replica_change,
            happened_at_unix_seconds=each.happened_at_unix_seconds,
            outdated=each.outdated or each.happened_at_unix_seconds < cutoff,
        )
        for each in events
    ]
    slot = max((i for i, each in enumerate(marked) if each.outdated), default=len(marked))
    return (*marked[:slot], new, *marked[slot + 1 :])
