"""By how much an age may be wrong that one process has stored by its wall clock, and another one has read by its own.

That is exactly what `clock-steps` in docs/deviations.md allows: at each change of the leader, the difference between
the clock of the new process at that moment and that of the last one when it stored its memory. What a process
remembers itself has the age that its monotonic clock measures, whatever its wall clock does.
"""

from itertools import pairwise

import msgspec

from tests.simulation.invariants import Run

# Two machines' wall clocks differ by this much at most, while no fault steps them.
SKEW_SECONDS = 1.5


class Skew(msgspec.Struct, frozen=True):
    """How many seconds too early, or too late, something ends at most."""

    early_seconds: float = 0.0
    late_seconds: float = 0.0


class _Life(msgspec.Struct, frozen=True):
    """A process that requested something of a target, without another one between that did so, or had its Lease."""

    process: str
    begin: float
    stored_at: float | None
    """When it stored last what it remembered of the target; None: never."""


class Skews:
    """Those of one target."""

    def __init__(self, run: Run, target: str) -> None:
        self._run = run
        self._lives = _lives(run, target)

    def between(self, since: float, until: float) -> Skew:
        """Of what was remembered at one moment, when it is read at another one.

        A time in the future counts as now. So an age that was too low once is not so any more after a change that makes
        it too high: what ends early is bounded by the last changes of the leader, from any one on.
        """
        # Who led when it was remembered, those after it that have stored it again, and who reads it.
        begun = [each for each in self._lives if each.begin <= until]
        first = max((n for n, each in enumerate(begun) if each.begin <= since), default=0)
        chain = begun[first:]
        chain = [each for each in chain[:-1] if each.stored_at is not None] + chain[-1:]
        if len(chain) < 2:
            return Skew()
        early = total = 0.0
        for before, after in reversed(list(pairwise(chain))):
            total += self._run.clock_offset(after.process, after.begin)
            total -= self._run.clock_offset(before.process, before.stored_at or before.begin)
            early = max(early, total)
        return Skew(SKEW_SECONDS + early, SKEW_SECONDS + max(0.0, -total))


def _lives(run: Run, target: str) -> list[_Life]:
    journal = run.journal
    begins: list[tuple[str, float]] = []
    last_at = 0.0
    for each in journal.target_requests:
        if each.target != target:
            continue
        is_new = not begins or begins[-1][0] != each.process
        if is_new or journal.was_lost_by(each.process, target, last_at, each.at):
            begins.append((each.process, each.at))
        last_at = each.at
    lives = []
    for number, (process, begin) in enumerate(begins):
        end = begins[number + 1][1] if number + 1 < len(begins) else run.scenario.end
        stored = [
            each.at
            for each in run.stores_of_memories
            if each.key == target and each.process == process and begin <= each.at <= end
        ]
        lives.append(_Life(process, begin, max(stored, default=None)))
    return lives
