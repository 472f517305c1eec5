"""Looks are started when due, so many at a time, and none stops the others."""

import asyncio
import logging

import pytest

from scaler.controller import Controller, Look, Timetable
from scaler.telemetry import Telemetry
from tests.fakes import virtual_time


def controller(look: Look, *, concurrent: int = 5, period_seconds: float = 15.0) -> Controller:
    return Controller(
        Timetable(period_seconds, chance=lambda: 0.0),
        look,
        Telemetry(),
        concurrent=concurrent,
        monotonic=asyncio.get_running_loop().time,
    )


async def run_for(running: Controller, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await running.run()
    except TimeoutError:
        return


def test_an_autoscaler_is_looked_at_once_a_period():
    async def scenario() -> list[float]:
        looks: list[float] = []

        async def look(_: str) -> bool:
            looks.append(asyncio.get_running_loop().time())
            await virtual_time.passes(2)
            return True

        running = controller(look)
        running.expect("ns/a")
        await run_for(running, 50)
        return looks

    assert virtual_time.run(scenario()) == [15.0, 30.0, 45.0]


def test_no_more_looks_run_at_once_than_allowed():
    async def scenario() -> tuple[int, int]:
        at_once = most = total = 0

        async def look(_: str) -> bool:
            nonlocal at_once, most, total
            at_once += 1
            total += 1
            most = max(most, at_once)
            await virtual_time.passes(1)
            at_once -= 1
            return True

        running = controller(look, concurrent=3)
        for number in range(9):
            running.expect(f"ns/{number}")
        await run_for(running, 20)
        return most, total

    assert virtual_time.run(scenario()) == (3, 9)


def test_one_that_appears_while_nothing_is_due_is_looked_at_in_time():
    async def scenario() -> list[float]:
        looks: list[float] = []

        async def look(_: str) -> bool:
            looks.append(asyncio.get_running_loop().time())
            return False

        running = controller(look)
        asyncio.get_running_loop().call_later(100, running.expect, "ns/a")
        await run_for(running, 200)
        return looks

    assert virtual_time.run(scenario()) == [115.0]


def test_a_look_that_crashes_is_told_counted_and_repeated(caplog: pytest.LogCaptureFixture):
    async def scenario() -> tuple[int, float]:
        looks = 0

        async def look(_: str) -> bool:
            nonlocal looks
            looks += 1
            raise ZeroDivisionError

        running = controller(look)
        running.expect("ns/a")
        await run_for(running, 31)
        return looks, running._telemetry.crashes_total._value.get()

    with caplog.at_level(logging.ERROR):
        assert virtual_time.run(scenario()) == (2, 2.0)
    assert "the look at ns/a failed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_look_that_has_begun_may_end_when_the_controller_stops():
    async def scenario() -> list[str]:
        told: list[str] = []

        async def look(_: str) -> bool:
            told.append("begun")
            await virtual_time.passes(2)
            told.append("ended")
            return True

        running = controller(look)
        running.expect("ns/a")
        await run_for(running, 16)
        return told

    assert virtual_time.run(scenario()) == ["begun", "ended"]


def test_a_look_that_hangs_does_not_keep_the_controller_from_stopping():
    async def scenario() -> float:
        async def look(_: str) -> bool:
            await asyncio.Event().wait()
            return True

        running = controller(look)
        running.expect("ns/a")
        await run_for(running, 16)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(scenario()) == pytest.approx(19, abs=0.1)


def test_one_that_stopped_may_run_again():
    """A leader may lose its Lease and win it back."""

    async def scenario() -> int:
        looks = 0

        async def look(_: str) -> bool:
            nonlocal looks
            looks += 1
            return True

        running = controller(look, concurrent=1)
        for _ in range(3):
            running.expect("ns/a")
            await run_for(running, 16)
        return looks

    assert virtual_time.run(scenario()) == 3


def test_the_gauge_of_lateness_grows_when_looks_wait_for_each_other():
    async def scenario() -> float:
        async def look(_: str) -> bool:
            await virtual_time.passes(4)
            return False

        running = controller(look, concurrent=1)
        running.expect("ns/a")
        running.expect("ns/b")
        await run_for(running, 30)
        return running._telemetry.lateness_seconds._sum.get()

    assert virtual_time.run(scenario()) == pytest.approx(4.0)
