"""What is remembered of a candidate: how far it has come, and the memory of its own decisions."""

from collections.abc import Sequence
from typing import Any

import msgspec

from scaler.algorithm.extension import Extension
from scaler.algorithm.history import history_of, memory_in
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.api.history import History, Recommendation, ScaleEvent

# How much of a step may be held again after a restart.
HELD_AGAIN_SECONDS = 60.0


class CandidateState(msgspec.Struct, frozen=True, kw_only=True):
    """`hash` identifies it. `held_seconds`: for how long its step has been held, up to `held_at_unix_seconds`.

    `breached_since_unix_seconds`: of each condition of `abortWhen`, None while it does not apply. `aborted`: why it was.
    """

    hash: str
    step: int = 0
    held_seconds: float = 0.0
    held_at_unix_seconds: float = 0.0
    breached_since_unix_seconds: tuple[float | None, ...] = ()
    aborted: str = ""
    memory: Memory = Memory()


class StoredCandidate(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """The stored form: the memory of its decisions stands beside its own fields."""

    hash: str
    step: int = 0
    held_seconds: float = 0.0
    held_at_unix_seconds: float = 0.0
    breached_since_unix_seconds: tuple[float | None, ...] = ()
    aborted: str = ""
    recommendations: tuple[Recommendation, ...] | None = None
    scale_up_events: tuple[ScaleEvent, ...] = ()
    scale_down_events: tuple[ScaleEvent, ...] = ()
    extensions: dict[str, msgspec.Raw] | None = None
    states: dict[str, str] = {}


Extensions = Sequence[Extension[Any, Any]]


def stored_candidate(state: CandidateState, extensions: Extensions) -> StoredCandidate:
    """What is stored."""
    history = history_of(state.memory, extensions)
    return StoredCandidate(
        hash=state.hash,
        step=state.step,
        held_seconds=state.held_seconds,
        held_at_unix_seconds=state.held_at_unix_seconds,
        breached_since_unix_seconds=state.breached_since_unix_seconds,
        aborted=state.aborted,
        recommendations=history.recommendations,
        scale_up_events=history.scale_up_events,
        scale_down_events=history.scale_down_events,
        extensions=history.extensions,
        states=history.states,
    )


def restored_candidate(stored: StoredCandidate, now_unix_seconds: float) -> CandidateState:
    """Its memory is a stored one until the next decision. A time of the future is now."""
    return CandidateState(
        hash=stored.hash,
        step=stored.step,
        held_seconds=stored.held_seconds,
        held_at_unix_seconds=min(stored.held_at_unix_seconds, now_unix_seconds),
        breached_since_unix_seconds=tuple(
            None if each is None else min(each, now_unix_seconds)
            for each in stored.breached_since_unix_seconds
        ),
        aborted=stored.aborted,
        memory=own_memory(stored),
    )


def own_memory(stored: StoredCandidate) -> StoredMemory:
    """What is stored of its decisions."""
    history = History(
        recommendations=stored.recommendations,
        scale_up_events=stored.scale_up_events,
        scale_down_events=stored.scale_down_events,
        extensions=stored.extensions,
        states=stored.states,
    )
    return memory_in(history, known_replicas=())


def times_shifted(state: CandidateState, seconds: float) -> CandidateState:
    """The times of its steps and of `abortWhen`, on a wall clock that was stepped by so much."""
    held_at = state.held_at_unix_seconds
    return msgspec.structs.replace(
        state,
        held_at_unix_seconds=held_at + seconds if held_at else held_at,
        breached_since_unix_seconds=tuple(
            None if each is None else each + seconds for each in state.breached_since_unix_seconds
        ),
    )


def progress_alike(stored: StoredCandidate, newer: StoredCandidate) -> bool:
    """Whether a process that starts from `stored` is at the same point of the trial."""
    return (
        (stored.hash, stored.step, stored.aborted) == (newer.hash, newer.step, newer.aborted)
        and abs(stored.held_seconds - newer.held_seconds) < HELD_AGAIN_SECONDS
        and stored.breached_since_unix_seconds == newer.breached_since_unix_seconds
    )
