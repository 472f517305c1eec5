"""A memory that another process left, and one of this process when the wall clock was stepped."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from scaler.algorithm.extension import Part
from scaler.algorithm.history import (
    Extensions,
    changed_with_states,
    history_of,
    state_of,
    states_held,
    stored_state,
    with_states,
)
from scaler.algorithm.memory import AnyMemory, Change, Memory, StoredMemory, remembered
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Policy
from scaler.algorithm.recommendations import seeded, with_counted_change, with_step
from scaler.algorithm.times import past_times, shifted_times
from scaler.api.history import History, Recommendation, Remembered, ScaleEvent, fields_of

# Less than any period; clocks drift by less than that while a step lasts.
SAME_SECONDS = 1.0

# The next write of memories and the Lease, as long as they last by default.
TAKE_OVER_SECONDS = 30.0

AnyRemembered = TypeVar("AnyRemembered", bound=Remembered)


def restored(
    stored: StoredMemory, policy: Policy, *, replicas: int, now_unix_seconds: float
) -> Memory:
    """Continue where another process stopped, so that every count is as if it had never stopped.

    Its last step is open: it would have stored another one. So it lasted until one period ago, when that process
    would have made its last reconcile. A memory that would have been stored again since then does not show whether that
    process ran until now, or could not store what it recommended, and one with fewer replicas than there are does not
    show what was recommended since. Then a higher current count is remembered too, as upstream does after every restart.
    A lower one is not: it would only delay a scale-up that the last recommendation allows. But if an old memory does not
    know the count, that process went on and could not store it: its last step does not last, and the count is what is known.
    """
    known = stored.known_replicas
    was_changed = bool(known) and replicas not in known and not policy.is_dry_run
    memory = _without_future(stored.history, now_unix_seconds)
    if was_changed:
        memory = _with_missing_event(
            memory, policy, known=known, replicas=replicas, now=now_unix_seconds
        )
    if not memory.recommendations:
        return msgspec.structs.replace(memory, recommendations=None)
    steps = sorted(memory.recommendations, key=lambda each: each.until_unix_seconds)
    stored_at = steps[-1].until_unix_seconds
    stopped_at = max(stored_at, now_unix_seconds - policy.sync_period_seconds)
    is_old = _is_old(stored_at, policy, now_unix_seconds)
    if is_old and was_changed:
        return with_step(memory, replicas, stopped_at)
    steps[-1] = msgspec.structs.replace(steps[-1], until_unix_seconds=stopped_at)
    memory = msgspec.structs.replace(memory, recommendations=tuple(steps))
    is_incomplete = is_old or (was_changed and replicas > max(known))
    if is_incomplete and steps[-1].replicas < replicas:
        return with_step(memory, replicas, stopped_at)
    return memory


def joined(stored: StoredMemory, memory: AnyMemory, now_unix_seconds: float) -> AnyMemory:
    """What another process stored, continued by one that could not read it when it began.

    Windows and policies count both. The last step is not open here: the first one of `memory` is the count that was found.
    """
    before = _without_future(stored.history, now_unix_seconds)
    if isinstance(memory, StoredMemory):
        history = _joined(before, memory.history)
        return msgspec.structs.replace(memory, history=history) if history else stored
    return _joined(before, memory) or stored


def _joined(before: Memory, memory: AnyRemembered) -> AnyRemembered | None:
    if memory.recommendations is None:
        return None
    steps = (*(before.recommendations or ()), *memory.recommendations)
    was_at_zero = all(each.replicas == 0 for each in memory.recommendations)
    return msgspec.structs.replace(
        memory,
        recommendations=tuple(sorted(steps, key=lambda each: each.until_unix_seconds)),
        scale_up_events=before.scale_up_events + memory.scale_up_events,
        scale_down_events=before.scale_down_events + memory.scale_down_events,
        scaled_to_zero=memory.scaled_to_zero or (before.scaled_to_zero and was_at_zero),
    )


def as_stored(memory: Memory, extensions: Extensions, replicas: int | None) -> StoredMemory:
    """The memory of this process, to continue it after a time without reconciles as another process would, with the same counts.

    `replicas`: what the target had after the last reconcile; None if it is not known.
    """
    change = memory.unconfirmed
    known = () if replicas is None else (replicas,)
    return StoredMemory(
        history=history_of(memory, extensions),
        known_replicas=known if change is None else (*known, change.after),
        unconfirmed=change,
    )


def take_over_seconds(period_seconds: float) -> float:
    """How long nothing is reconciled, at most, while another process takes over."""
    return 2 * period_seconds + TAKE_OVER_SECONDS


def resumed(
    before: AnyMemory,
    policy: Policy,
    parts: Sequence[Part],
    *,
    replicas: int,
    has_rivals: bool,
    now_unix_seconds: float,
) -> Memory:
    """The memory with which a reconcile starts: restored after a restart, seeded at the first reconcile.

    It has the states of the extensions that are set.
    """
    if isinstance(before, StoredMemory):
        memory = restored(before, policy, replicas=replicas, now_unix_seconds=now_unix_seconds)
    else:
        memory = before = confirmed(before, policy, parts, replicas=replicas)
    if has_rivals:
        # Others set the count meanwhile: afterwards, begin with what they leave behind.
        memory = msgspec.structs.replace(memory, recommendations=None)
    memory = seeded(memory, replicas=replicas, now_unix_seconds=now_unix_seconds)
    states = {
        part.extension.name: state_of(before, part.extension, now_unix_seconds) for part in parts
    }
    if isinstance(before, StoredMemory) and _lacks_reconciles(
        before, policy, replicas=replicas, now_unix_seconds=now_unix_seconds
    ):
        states = states_held(states, parts, now_unix_seconds, were_read=False)
    memory = with_states(memory, states)
    if isinstance(before, StoredMemory) and before.unconfirmed is not None:
        memory = msgspec.structs.replace(memory, unconfirmed=before.unconfirmed)
        memory = confirmed(memory, policy, parts, replicas=replicas)
    return memory


def confirmed(memory: Memory, policy: Policy, parts: Sequence[Part], *, replicas: int) -> Memory:
    """Remember a change whose write got no answer, once the count shows that it was applied.

    Otherwise the policies would allow the same change again. Not upstream's: kube-controller-manager forgets it.
    """
    change = memory.unconfirmed
    if change is None or replicas == change.before:
        return memory
    if replicas != change.after:
        return msgspec.structs.replace(memory, unconfirmed=None)
    written = msgspec.structs.replace(change, confirmed=True)
    return changed_with_states(memory, policy, parts, written)


def stored_again_seconds(policy: Policy) -> float:
    """After how long a memory is stored again while the window holds more replicas than were recommended last."""
    return policy.scale_down_window_seconds / 2


def shifted(memory: Memory, seconds: float, extensions: Extensions) -> Memory:
    """The same ages, on a wall clock that was stepped by so much."""
    states = {
        each.name: each.shifted(memory.states[each.name], seconds)
        for each in extensions
        if each.name in memory.states
    }
    return shifted_times(with_states(memory, states), seconds)


def restores_alike(stored: AnyMemory, memory: AnyMemory, extensions: Extensions) -> bool:
    """Whether a process that starts from `stored` decides like one that has `memory`.

    The last step is open in both, so a steady autoscaler need not be stored again. Times are the same within a second.
    """
    before, after = remembered(stored), remembered(memory)
    return (
        before.scaled_to_zero == after.scaled_to_zero
        and _alike(before.scale_up_events, after.scale_up_events)
        and _alike(before.scale_down_events, after.scale_down_events)
        and _restores_steps(before.recommendations or (), after.recommendations or ())
        and all(
            each.restores_alike(stored_state(stored, each), stored_state(memory, each))
            for each in extensions
            if each.state_type is not None
        )
    )


def _without_future(stored: History, now: float) -> Memory:
    """The memory with no time in the future: what another process' clock, which was ahead, put there is of now."""
    memory = Memory(**fields_of(Remembered, stored))
    dated = msgspec.structs.replace(
        memory,
        scale_up_events=tuple(_not_after(each, now) for each in memory.scale_up_events),
        scale_down_events=tuple(_not_after(each, now) for each in memory.scale_down_events),
    )
    return past_times(dated, now)


def _not_after(event: ScaleEvent, now: float) -> ScaleEvent:
    if event.happened_at_unix_seconds <= now:
        return event
    return msgspec.structs.replace(event, happened_at_unix_seconds=now, may_be_older=True)


def _with_missing_event(
    memory: Memory, policy: Policy, *, known: tuple[int, ...], replicas: int, now: float
) -> Memory:
    """Remember a change of the count that the status does not show.

    The other process may have died after it scaled the target and before it stored that. Even if a user made the
    change, the policies count it as made now.
    """
    before = min(known, key=lambda each: abs(each - replicas))
    change = Change(before=before, after=replicas, at_unix_seconds=now)
    return with_counted_change(memory, policy, change, may_be_older=True)


def _is_old(stored_at: float, policy: Policy, now_unix_seconds: float) -> bool:
    """Whether it does not show what the window needs: what was recommended until now."""
    seconds = min(policy.scale_down_window_seconds, _stored_seconds_ago_max(policy))
    return Moment(now_unix_seconds).passed(stored_at + seconds)


def _lacks_reconciles(
    stored: StoredMemory, policy: Policy, *, replicas: int, now_unix_seconds: float
) -> bool:
    """Whether nothing was reconciled, or nothing could be stored, for longer than a restart takes.

    The age of the memory shows that only while there are more replicas than were recommended last, and than the minimum: otherwise
    it is not stored again.
    """
    steps = stored.history.recommendations
    if not steps or replicas <= policy.min_replicas:
        return False
    last = max(steps, key=lambda each: each.until_unix_seconds)
    is_old = Moment(now_unix_seconds).passed(
        last.until_unix_seconds + _stored_seconds_ago_max(policy)
    )
    return last.replicas < replicas and is_old


def _stored_seconds_ago_max(policy: Policy) -> float:
    """How long ago a process stored its memory that has held replicas until another one took over.

    It stores it with its next reconcile, and the other one needs it with its first.
    """
    return stored_again_seconds(policy) + take_over_seconds(policy.sync_period_seconds)


def _alike(stored: tuple[ScaleEvent, ...], events: tuple[ScaleEvent, ...]) -> bool:
    return len(stored) == len(events) and all(
        one.replica_change == other.replica_change
        and abs(one.happened_at_unix_seconds - other.happened_at_unix_seconds) <= SAME_SECONDS
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
        each.replicas in ends and abs(ends[each.replicas] - each.until_unix_seconds) <= SAME_SECONDS
        for each in steps[:-1]
    )
