"""Takes turns on two processors until the end, and sums up."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from testbed.soak.progress import Progress
from testbed.soak.regressions import RECORDED, Regression, recorded
from testbed.soak.schedule import Source, Spent, next_source
from testbed.soak.turns import Turn
from testbed.waiting import elapse

_POLL_SECONDS: Final = 0.5


class Failure(msgspec.Struct, frozen=True):
    """A turn that ended with an error, or that was stopped because it hung."""

    source: str
    first: int
    log_path: Path


class Soak:
    """`run` until the end, then `summary`. `failures` and `new_regressions` are empty if all is well."""

    def __init__(
        self,
        sources: Sequence[Source],
        progress: Progress,
        directory: Path,
        *,
        regressions: Path = RECORDED,
        monotonic: Callable[[], float] = time.monotonic,
        elapse: Callable[[float], None] = elapse,
        report: Callable[[str], None] = print,
    ) -> None:
        self._sources = sources
        self._progress = progress
        self._directory = directory
        self._regressions = regressions
        self._monotonic = monotonic
        self._elapse = elapse
        self._report = report
        self._running: dict[str, Turn] = {}
        self._spent = {each.name: Spent() for each in sources}
        self._known = set(recorded(path=regressions))
        self._unfinished: list[str] = []
        self.failures: list[Failure] = []

    def run(self, seconds: float) -> None:
        """Until then, until nothing fits any more, or until Ctrl-C."""
        ends_at = self._monotonic() + seconds
        self._directory.mkdir(parents=True, exist_ok=True)
        try:
            while self._monotonic() < ends_at:
                self._finish()
                self._start(ends_at - self._monotonic())
                if not self._running:
                    return
                self._elapse(_POLL_SECONDS)
        except KeyboardInterrupt:
            self._report("interrupted")
        finally:
            self._end()

    @property
    def new_regressions(self) -> list[Regression]:
        """That were recorded since the soak began."""
        return [each for each in recorded(path=self._regressions) if each not in self._known]

    def _start(self, remaining_seconds: float) -> None:
        while source := next_source(
            self._sources, self._spent, self._running, remaining_seconds=remaining_seconds
        ):
            first = self._progress.first(source)
            self._running[source.name] = Turn(source, first, self._directory)

    def _finish(self) -> None:
        for turn in list(self._running.values()):
            if turn.exit_code is None and not turn.hangs:
                continue
            is_hanging = turn.exit_code is None
            turn.end()
            del self._running[turn.source.name]
            self._spent[turn.source.name].add(turn.seconds)
            self._progress.done(turn.source, turn.first)
            if is_hanging or turn.exit_code:
                self._fail(turn, "hangs" if is_hanging else "FAILED")
            else:
                self._report(f"{_name(turn)}, {turn.seconds:.0f} s: {turn.last_line()}")

    def _fail(self, turn: Turn, what: str) -> None:
        self.failures.append(Failure(turn.source.name, turn.first, turn.log_path))
        self._report(f"{_name(turn)}: {what}, {turn.seconds:.0f} s; {turn.log_path}")
        self._report(turn.log_tail())

    def _end(self) -> None:
        """What is running is repeated by the next soak."""
        self._finish()
        for turn in self._running.values():
            self._unfinished.append(_name(turn))
            turn.end()
        self._running.clear()

    def summary(self) -> list[str]:
        """What was done, what is left, and what failed."""
        lines = [f"{'source':28}{'turns':>6}{'seconds':>9}{'next':>10}"]
        for source in self._sources:
            spent = self._spent[source.name]
            following = self._progress.first(source)
            lines.append(f"{source.name:28}{spent.turns:>6}{spent.seconds:>9.0f}{following:>10}")
        lines += [f"not finished, to be repeated: {each}" for each in self._unfinished]
        lines += [
            f"FAILED: {each.source} from {each.first}: {each.log_path}" for each in self.failures
        ]
        lines += [
            f"recorded as a regression: {each.source}, {each.case}: {each.finding}"
            for each in self.new_regressions
        ]
        lines.append(f"{len(self.failures)} failures, {len(self.new_regressions)} new regressions")
        return lines


def _name(turn: Turn) -> str:
    return f"{turn.source.name} from {turn.first}"
