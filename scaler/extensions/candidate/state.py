"""What is remembered of a candidate: how far it has come, and the memory of its own decisions."""

import msgspec

from scaler.algorithm.memory import Memory, StoredMemory
from scaler.api.history import History

# How much of a step may be held again after a restart.
HELD_AGAIN_SECONDS = 60.0


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """How far a candidate has come. `hash` identifies it. `held_seconds`: for how long its step has been held, up to
    `held_at_unix_seconds`.

    `breached_since_unix_seconds`: of each condition of `abortWhen`, None while it does not apply. `aborted`: why it was.
    `spec_replicas`, `candidate_replicas`: what each decided last, and `result_replicas` what resulted.
    """

    hash: str
    step: int = 0
    held_seconds: float = 0.0
    held_at_unix_seconds: float | None = None
    spec_replicas: int | None = None
    candidate_replicas: int | None = None
    result_replicas: int | None = None
    breached_since_unix_seconds: tuple[float | None, ...] = ()
    aborted: str = ""


class CandidateState(Trial, frozen=True, kw_only=True):
    """With the memory of its decisions, or what another process stored of that, which `begin` continues."""

    memory: Memory = Memory()
    stored: StoredMemory | None = None


class StoredCandidate(History, frozen=True, kw_only=True):
    """The fields of a trial beside the history of its decisions."""

    hash: str
    step: int = 0
    held_seconds: float = 0.0
    held_at_unix_seconds: float | None = None
    spec_replicas: int | None = None
    candidate_replicas: int | None = None
    result_replicas: int | None = None
    breached_since_unix_seconds: tuple[float | None, ...] = ()
    aborted: str = ""


def progress_alike(stored: StoredCandidate, newer: StoredCandidate) -> bool:
    """Whether a process that starts from `stored` is at the same point of the trial."""
    return (
        (stored.hash, stored.step, stored.aborted) == (newer.hash, newer.step, newer.aborted)
        and _counts(stored) == _counts(newer)
        and abs(stored.held_seconds - newer.held_seconds) < HELD_AGAIN_SECONDS
        and stored.breached_since_unix_seconds == newer.breached_since_unix_seconds
    )


def _counts(stored: StoredCandidate) -> tuple[int | None, ...]:
    return stored.spec_replicas, stored.candidate_replicas, stored.result_replicas
