"""What a reconcile adds to the memory.

Upstream keeps one recommendation per sync. Here a recommendation that repeats extends the last step, and a step
that can never again be the highest or the lowest of any window is dropped. Both decide alike:
`tests/unit/scaler/algorithm/test_recommendation_properties.py` compares them over random histories.
"""

import math

import msgspec

from scaler.algorithm.memory import Change, Memory
from scaler.algorithm.policy import Policy, Rules
from scaler.api.history import Recommendation, ScaleEvent


def seeded(memory: Memory, *, replicas: int, now_unix_seconds: float) -> Memory:
    """The first reconcile remembers the current count, so that nothing shrinks before the window has passed."""
    if memory.recommendations is not None:
        return memory
    first = _step(replicas, now_unix_seconds)
    return msgspec.structs.replace(memory, recommendations=(first,))


def held(memory: Memory, policy: Policy, now_unix_seconds: float) -> Memory:
    """While nothing can be recommended, the last recommendation counts as repeated, unless for an HPA.

    Else the first low reading after an outage longer than the window would shrink the target at once.
    """
    steps = memory.recommendations
    if not policy.kind.holds_while_failing or not steps:
        return memory
    last = msgspec.structs.replace(steps[-1], until_unix_seconds=now_unix_seconds)
    return msgspec.structs.replace(memory, recommendations=(*steps[:-1], last))


def with_recommendation(
    memory: Memory, *, replicas: int, before_unix_seconds: float, now_unix_seconds: float
) -> Memory:
    """Remember a recommendation; forget those last made before `before_unix_seconds`, which no window needs."""
    return _without_old_steps(with_step(memory, replicas, now_unix_seconds), before_unix_seconds)


def _without_old_steps(memory: Memory, before_unix_seconds: float) -> Memory:
    steps = memory.recommendations or ()
    if steps[0].until_unix_seconds >= before_unix_seconds:
        return memory
    kept = tuple(each for each in steps if each.until_unix_seconds >= before_unix_seconds)
    return msgspec.structs.replace(memory, recommendations=kept)


def with_scale_event(
    memory: Memory,
    *,
    before: int,
    after: int,
    rules: Rules,
    now_unix_seconds: float,
    may_be_older: bool = False,
) -> Memory:
    """Remember a change that was carried out; `rules` are those of its direction."""
    event = ScaleEvent(
        replica_change=abs(after - before),
        happened_at_unix_seconds=now_unix_seconds,
        may_be_older=may_be_older,
    )
    cutoff = now_unix_seconds - rules.longest_period_seconds
    ups, downs = memory.scale_up_events, memory.scale_down_events
    if after > before:
        ups = _logged(ups, event, cutoff)
    else:
        downs = _logged(downs, event, cutoff)
    return msgspec.structs.replace(
        memory, scale_up_events=ups, scale_down_events=downs, unconfirmed=None
    )


def with_change(memory: Memory, policy: Policy, change: Change) -> Memory:
    """The memory after a write of the scale. Only policies need scale events, so they are kept only with `behavior`."""
    if not change.confirmed:
        return msgspec.structs.replace(memory, unconfirmed=change)
    if memory.unconfirmed is not None:
        memory = msgspec.structs.replace(memory, unconfirmed=None)
    return with_counted_change(memory, policy, change)


def with_counted_change(
    memory: Memory, policy: Policy, change: Change, *, may_be_older: bool = False
) -> Memory:
    """The memory with the scale event of a change, as far as the policies count it."""
    behavior, before = policy.behavior, change.before
    if behavior is None:
        return memory
    if before == 0 and policy.starts_over_at_zero:
        memory, before = _without_zeros(memory), 1
    if before == change.after:
        return memory
    return with_scale_event(
        memory,
        before=before,
        after=change.after,
        rules=behavior.scale_up if change.after > before else behavior.scale_down,
        now_unix_seconds=change.at_unix_seconds,
        may_be_older=may_be_older,
    )


def _without_zeros(memory: Memory) -> Memory:
    steps = tuple(each for each in memory.recommendations or () if each.replicas > 0)
    return msgspec.structs.replace(memory, recommendations=steps)


def with_step(memory: Memory, replicas: int, now: float) -> Memory:
    """Extend the last step, or begin another one."""
    steps = memory.recommendations or ()
    if steps and steps[-1].replicas == replicas:
        last = Recommendation(
            replicas=replicas,
            since_unix_seconds=steps[-1].since_unix_seconds,
            until_unix_seconds=now,
        )
        steps = (*steps[:-1], last)
    else:
        steps = (*_still_deciding(steps, replicas), _step(replicas, now))
    return msgspec.structs.replace(memory, recommendations=steps)


def continued(memory: Memory, until_unix_seconds: float, window_seconds: float) -> Memory:
    """The memory after the same recommendation was made until then; without the steps that no window of that length needs."""
    steps = memory.recommendations
    if not steps:
        return memory
    last = msgspec.structs.replace(steps[-1], until_unix_seconds=until_unix_seconds)
    memory = msgspec.structs.replace(memory, recommendations=(*steps[:-1], last))
    return _without_old_steps(memory, until_unix_seconds - window_seconds)


def only_continues(before: Memory, after: Memory) -> bool:
    """Whether a reconcile changed nothing in the memory, except that the last recommendation lasts."""
    if before.unconfirmed is not None:
        return False
    if not before.recommendations or not after.recommendations:
        return False
    return continued(before, after.recommendations[-1].until_unix_seconds, math.inf) == after


def _step(replicas: int, now: float) -> Recommendation:
    return Recommendation(replicas=replicas, since_unix_seconds=now, until_unix_seconds=now)


def _still_deciding(steps: tuple[Recommendation, ...], newest: int) -> tuple[Recommendation, ...]:
    """The steps that are higher than all later ones, or lower; any window's extremes are among them."""
    highest = lowest = newest
    kept = []
    for step in reversed(steps):
        if step.replicas > highest or step.replicas < lowest:
            kept.append(step)
        highest, lowest = max(highest, step.replicas), min(lowest, step.replicas)
    return tuple(reversed(kept))


def _logged(
    events: tuple[ScaleEvent, ...], new: ScaleEvent, cutoff: float
) -> tuple[ScaleEvent, ...]:
    """Mark what is too old for every policy of its direction, and reuse the last marked slot, or append.

    A marked event still counts for a longer period of the other direction, until its slot is reused.
    """
    marked = [
        ScaleEvent(
            replica_change=each.replica_change,
            happened_at_unix_seconds=each.happened_at_unix_seconds,
            outdated=each.outdated or each.happened_at_unix_seconds < cutoff,
            may_be_older=each.may_be_older,
        )
        for each in events
    ]
    slot = max((i for i, each in enumerate(marked) if each.outdated), default=len(marked))
    return (*marked[:slot], new, *marked[slot + 1 :])
