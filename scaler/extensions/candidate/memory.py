"""The memory of a candidate, after a restart or a step of the clock."""

import msgspec

from scaler.algorithm.memory import CandidateMemory, Memory

# How much of a step may be held again after a restart.
HELD_AGAIN_SECONDS = 60.0


def own_memory(memory: CandidateMemory) -> Memory:
    """What the decisions of a candidate remember, as a memory of its own."""
    return Memory(
        recommendations=memory.recommendations,
        scale_up_events=memory.scale_up_events,
        scale_down_events=memory.scale_down_events,
        extensions=memory.extensions,
    )


def with_own_memory(memory: CandidateMemory, own: Memory) -> CandidateMemory:
    """The same candidate, with this remembered of its decisions."""
    return msgspec.structs.replace(
        memory,
        recommendations=own.recommendations,
        scale_up_events=own.scale_up_events,
        scale_down_events=own.scale_down_events,
        extensions=own.extensions,
    )


def times_shifted(memory: CandidateMemory, seconds: float) -> CandidateMemory:
    """The times of its steps and of `abortWhen`, on a wall clock that was stepped by so much."""
    held_at = memory.held_at_unix_seconds
    return msgspec.structs.replace(
        memory,
        held_at_unix_seconds=held_at + seconds if held_at else held_at,
        breached_since_unix_seconds=tuple(
            None if each is None else each + seconds for each in memory.breached_since_unix_seconds
        ),
    )


def progress_alike(stored: CandidateMemory, memory: CandidateMemory) -> bool:
    """Whether a process that starts from `stored` is at the same point of the trial."""
    return (
        (stored.hash, stored.step, stored.aborted) == (memory.hash, memory.step, memory.aborted)
        and abs(stored.held_seconds - memory.held_seconds) < HELD_AGAIN_SECONDS
        and stored.breached_since_unix_seconds == memory.breached_since_unix_seconds
    )
