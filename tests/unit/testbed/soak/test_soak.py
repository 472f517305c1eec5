"""A soak takes turns until its end, and says what has failed and what is left."""

import datetime
import sys
from collections.abc import Callable

import pytest

from testbed import waiting
from testbed.soak import soak, turns
from testbed.soak.progress import Progress
from testbed.soak.regressions import Regression, record
from testbed.soak.schedule import Source

LONG = "import time; time.sleep(600)"


def source(script: str, *, turn_seconds: float = 60.0, name: str = "source") -> Source:
    command = (sys.executable, "-c", script)
    return Source(name=name, command=command, numbers=5, first=10, turn_seconds=turn_seconds)


class World:
    """A soak of some sources, with files of its own."""

    def __init__(self, tmp_path, *sources: Source, elapse: Callable[[float], None]) -> None:
        self.lines: list[str] = []
        self.regressions = tmp_path / "regressions.jsonl"
        self.progress = Progress(tmp_path / "progress.json")
        self.soak = soak.Soak(
            sources,
            self.progress,
            tmp_path / "logs",
            regressions=self.regressions,
            elapse=elapse,
            report=self.lines.append,
        )

    def summary(self) -> str:
        return "\n".join(self.soak.summary())


def shortly(_: float) -> None:
    waiting.elapse(0.02)


def until(condition: Callable[[World], bool], worlds: list[World]) -> Callable[[float], None]:
    """Ctrl-C as soon as this is so."""

    def elapse(_: float) -> None:
        waiting.elapse(0.02)
        if condition(worlds[0]):
            raise KeyboardInterrupt

    return elapse


def test_a_turn_without_a_failure_is_summed_up_by_its_last_line(tmp_path):
    worlds: list[World] = []
    one = source("print('noise'); print('5 seeds: 0 failed')")
    worlds.append(World(tmp_path, one, elapse=until(lambda world: bool(world.lines), worlds)))
    worlds[0].soak.run(3600.0)
    assert worlds[0].lines[0].endswith(": 5 seeds: 0 failed")
    assert worlds[0].soak.failures == []
    assert worlds[0].progress.first(one) >= 15


def test_a_turn_that_fails_is_reported_with_the_end_of_its_log(tmp_path):
    worlds: list[World] = []
    one = source("print('seed 12 fails'); raise SystemExit(1)")
    worlds.append(World(tmp_path, one, elapse=until(lambda world: bool(world.lines), worlds)))
    worlds[0].soak.run(3600.0)
    assert "seed 12 fails" in "\n".join(worlds[0].lines)
    assert worlds[0].soak.failures[0].first == 10
    assert "FAILED: source from 10" in worlds[0].summary()
    assert worlds[0].progress.first(one) >= 15


def test_a_turn_that_hangs_is_a_failure(tmp_path):
    worlds: list[World] = []
    one = source(LONG, turn_seconds=0.5 / turns.HANGS_RATIO)
    worlds.append(World(tmp_path, one, elapse=until(lambda world: bool(world.lines), worlds)))
    worlds[0].soak.run(3600.0)
    assert "hangs" in worlds[0].lines[0]
    assert len(worlds[0].soak.failures) == 1


def test_a_turn_that_has_not_ended_is_repeated_by_the_next_soak(tmp_path):
    one = source(LONG, turn_seconds=0.1)
    world = World(tmp_path, one, elapse=shortly)
    world.soak.run(0.3)
    assert world.soak.failures == []
    assert world.progress.first(one) == 10
    assert "not finished, to be repeated: source from 10" in world.summary()


def test_ctrl_c_ends_all_turns_and_leaves_a_summary(tmp_path):
    worlds: list[World] = []
    both = (source(LONG, name="one"), source(LONG, name="other"))
    worlds.append(World(tmp_path, *both, elapse=until(lambda _: True, worlds)))
    worlds[0].soak.run(3600.0)
    assert worlds[0].lines == ["interrupted"]
    summary = worlds[0].summary()
    assert "to be repeated: one from 10" in summary
    assert "to be repeated: other from 10" in summary


def test_nothing_is_begun_that_does_not_fit(tmp_path):
    world = World(tmp_path, source("print()", turn_seconds=600.0), elapse=shortly)
    world.soak.run(60.0)
    assert world.lines == []


def test_regressions_that_are_recorded_meanwhile_are_listed(tmp_path):
    found = Regression(
        source="simulation", case="7", finding="one writer", date=datetime.date(2026, 3, 1)
    )
    world = World(tmp_path, source("print()"), elapse=shortly)
    assert world.soak.new_regressions == []
    record(found, world.regressions)
    assert world.soak.new_regressions == [found]
    assert "recorded as a regression: simulation, 7: one writer" in world.summary()
    assert world.soak.failures == []


@pytest.mark.parametrize("script", ["import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"])
def test_a_turn_that_ignores_the_interrupt_is_killed(tmp_path, script, monkeypatch):
    monkeypatch.setattr(turns, "GRACE_SECONDS", 0.2)
    turn = turns.Turn(source(f"{script}; print('on', flush=True); {LONG}"), 10, tmp_path)
    waiting.until(lambda: turn.last_line() == "on", what="the turn")
    turn.end()
    assert turn.exit_code == -9
