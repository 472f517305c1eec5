"""What a process cannot know of an autoscaler, because what an earlier one has stored is lost."""

import math
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from tests.simulation.invariants import Run


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """What happened from `begin` to `end` is unknown to each process that has read the memory at `read_at` or later."""

    begin: float
    end: float
    read_at: float

    def hides(self, happened_at: float, sent_at: float) -> bool:
        """Whether a reconcile that has begun at `sent_at` cannot know it."""
        return self.begin <= happened_at <= self.end and sent_at >= self.read_at


def lost_memories(run: Run, target: str) -> tuple[Lost, ...]:
    """All that is lost of a target."""
    return (*lost_by_restores(run, target), *lost_by_pruning(run, target))


def lost_by_pruning(run: Run, target: str) -> Iterator[Lost]:
    """Of a target: a process that reads a status whose history the server has pruned knows nothing from before."""
    statuses = [each for each in run.journal.statuses if each.key == target]
    requests = [each for each in run.journal.target_requests if each.target == target]
    for before, each in pairwise(requests):
        if before.process != each.process:
            latest = next((read for read in reversed(statuses) if read.at < each.at), None)
            if latest is not None and latest.loses_history:
                yield Lost(begin=0.0, end=each.at, read_at=each.at)


def lost_by_restores(run: Run, target: str) -> Iterator[Lost]:
    """Of a target: a restore loses what was stored after the backup, unless the process that remembers it stores it again.

    That is the one that has reconciled last before the restore: it had read what others had stored. If the restore gives
    its Lease to another one, it reads the memory again.
    """
    requests = [each for each in run.journal.target_requests if each.target == target]
    for restore in run.journal.restores:
        owner = next((each.process for each in reversed(requests) if each.at <= restore.at), "")
        following = (
            each.at
            for each in requests
            if each.at > restore.at
            and (
                each.process != owner or run.journal.was_lost_by(owner, target, restore.at, each.at)
            )
        )
        read_at = next(following, math.inf)
        is_stored_again = any(
            each.key == target and each.process == owner and restore.at < each.at <= read_at
            for each in run.stores_of_memories
        )
        if read_at < math.inf and not is_stored_again:
            yield Lost(begin=restore.backup_at, end=restore.at, read_at=read_at)
