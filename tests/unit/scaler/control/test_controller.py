"""Reconciles start when due, a limited number at a time, and none affects the others."""

import asyncio
import logging
from collections.abc import Callable

import pytest

from scaler.cluster.telemetry import Telemetry
from scaler.control.controller import Controller, Reconcile, Repeat
from scaler.control.workqueue import WorkQueue
from tests.fakes import virtual_time

# Its moment is the start of each period: 0 s, 15 s, 30 s ...
UID = ""


def controller(
    reconcile: Reconcile,
    *,
    repeat: Repeat = lambda _: False,
    is_overloaded: Callable[[], bool] = lambda: False,
    concurrent: int = 5,
    period_seconds: float = 15.0,
    drain_seconds: float = 3.0,
    monotonic: Callable[[], float] | None = None,
) -> Controller:
    return Controller(
        WorkQueue(period_seconds),
        reconcile,
        Telemetry(),
        repeat=repeat,
        is_overloaded=is_overloaded,
        concurrent=concurrent,
        drain_seconds=drain_seconds,
        monotonic=monotonic or asyncio.get_running_loop().time,
    )


async def run_for(running: Controller, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await running.run()
    except TimeoutError:
        return


def test_an_autoscaler_is_reconciled_once_a_period():
    async def scenario() -> list[float]:
        reconciles: list[float] = []

        async def reconcile(_: str) -> bool:
            reconciles.append(asyncio.get_running_loop().time())
            await virtual_time.passes(2)
            return True

        running = controller(reconcile)
        running.enqueue("ns/a", UID)
        await run_for(running, 50)
        return reconciles

    assert virtual_time.run(scenario()) == [15.0, 30.0, 45.0]


def test_no_more_reconciles_run_at_once_than_allowed():
    async def scenario() -> tuple[int, int]:
        at_once = most = total = 0

        async def reconcile(_: str) -> bool:
            nonlocal at_once, most, total
            at_once += 1
            total += 1
            most = max(most, at_once)
            await virtual_time.passes(0.05)
            at_once -= 1
            return True

        running = controller(reconcile, concurrent=3)
        for number in range(9):
            running.enqueue(f"ns/{number}", UID)
        await run_for(running, 20)
        return most, total

    assert virtual_time.run(scenario()) == (3, 9)


def test_an_autoscaler_that_appears_while_nothing_is_due_is_reconciled_in_time():
    async def scenario() -> list[float]:
        reconciles: list[float] = []

        async def reconcile(_: str) -> bool:
            reconciles.append(asyncio.get_running_loop().time())
            return False

        running = controller(reconcile)
        asyncio.get_running_loop().call_later(100, running.enqueue, "ns/a", UID)
        await run_for(running, 200)
        return reconciles

    assert virtual_time.run(scenario()) == [105.0]


def test_a_reconcile_that_crashes_is_logged_counted_and_repeated(caplog: pytest.LogCaptureFixture):
    async def scenario() -> tuple[int, float]:
        reconciles = 0

        async def reconcile(_: str) -> bool:
            nonlocal reconciles
            reconciles += 1
            raise ZeroDivisionError

        running = controller(reconcile)
        running.enqueue("ns/a", UID)
        await run_for(running, 31)
        return reconciles, running._telemetry.crashes_total._value.get()

    with caplog.at_level(logging.ERROR):
        assert virtual_time.run(scenario()) == (2, 2.0)
    assert "the reconcile of ns/a crashed" in caplog.text
    assert "ZeroDivisionError" in caplog.text


def test_a_reconcile_in_progress_may_finish_when_the_controller_stops():
    async def scenario() -> list[str]:
        progress: list[str] = []

        async def reconcile(_: str) -> bool:
            progress.append("started")
            await virtual_time.passes(2)
            progress.append("finished")
            return True

        running = controller(reconcile)
        running.enqueue("ns/a", UID)
        await run_for(running, 16)
        return progress

    assert virtual_time.run(scenario()) == ["started", "finished"]


def test_a_reconcile_that_hangs_does_not_keep_the_controller_from_stopping():
    async def scenario() -> float:
        async def reconcile(_: str) -> bool:
            await asyncio.Event().wait()
            return True

        running = controller(reconcile)
        running.enqueue("ns/a", UID)
        await run_for(running, 16)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(scenario()) == pytest.approx(19, abs=0.1)


def test_a_controller_that_stopped_can_run_again():
    """A leader may lose its Lease and acquire it again."""

    async def scenario() -> int:
        reconciles = 0

        async def reconcile(_: str) -> bool:
            nonlocal reconciles
            reconciles += 1
            return True

        running = controller(reconcile, concurrent=1)
        for _ in range(3):
            running.enqueue("ns/a", UID)
            await run_for(running, 16)
        return reconciles

    assert virtual_time.run(scenario()) == 3


def test_the_delay_grows_when_reconciles_wait_for_a_worker():
    async def scenario() -> float:
        async def reconcile(_: str) -> bool:
            await virtual_time.passes(0.05)
            return False

        running = controller(reconcile, concurrent=1)
        running.enqueue("ns/a", UID)
        running.enqueue("ns/b", UID)
        await run_for(running, 30)
        return running._telemetry.reconcile_delay_seconds._sum.get()

    assert virtual_time.run(scenario()) == pytest.approx(0.05)


@pytest.mark.deviation("metric-deadline")
def test_reconciles_that_wait_for_a_response_do_not_delay_the_others():
    """A fifth of 1,000 autoscalers hangs for two thirds of the period; the others keep theirs."""

    async def scenario() -> float:
        async def reconcile(key: str) -> bool:
            hangs = int(key.partition("/")[2]) % 5 == 0
            await virtual_time.passes(10 if hangs else 0.02)
            return True

        running = controller(reconcile, concurrent=20)
        for number in range(1000):
            running.enqueue(f"ns/{number}", uid=str(number))
        await run_for(running, 120)
        delay = running._telemetry.reconcile_delay_seconds
        within_a_tenth = sum(bucket.get() for bucket in delay._buckets[:8])
        total = sum(bucket.get() for bucket in delay._buckets)
        assert total > 6_900, "every autoscaler is reconciled once a period"
        return within_a_tenth / total

    assert virtual_time.run(scenario()) >= 0.99


def test_while_kube_apiserver_is_overloaded_no_reconcile_waits_for_long():
    """It answers 100 requests a second, too few for 2,000 autoscalers; each must still get its response soon."""

    async def scenario() -> tuple[int, float]:
        kube_apiserver = asyncio.Lock()
        in_flight, waits = 0, list[float]()

        async def reconcile(_: str) -> bool:
            nonlocal in_flight
            now = asyncio.get_running_loop().time
            in_flight, began = in_flight + 1, now()
            async with kube_apiserver:
                await virtual_time.passes(0.01)
            in_flight -= 1
            waits.append(now() - began)
            return True

        running = controller(reconcile, is_overloaded=lambda: in_flight >= 128, concurrent=20)
        for number in range(2000):
            running.enqueue(f"ns/{number}", uid=str(number))
        await run_for(running, 120)
        return len(waits), max(waits)

    reconciles, longest_wait_seconds = virtual_time.run(scenario())
    assert reconciles > 10_000, "kube-apiserver is never idle"
    assert longest_wait_seconds < 1.6, "128 and 20 requests, 10 ms each"


def test_a_cancelled_reconcile_has_ended_before_the_controller_has():
    """Else it could still write after the Lease is released and another replica scales."""

    async def scenario() -> list[str]:
        order: list[str] = []

        async def reconcile(_: str) -> bool:
            try:
                await asyncio.Event().wait()
            finally:
                await virtual_time.passes(0.5)
                order.append("reconcile ended")
            return True

        running = controller(reconcile)
        running.enqueue("ns/a", UID)
        await run_for(running, 16)
        order.append("controller ended")
        return order

    assert virtual_time.run(scenario()) == ["reconcile ended", "controller ended"]


def test_some_autoscalers_can_be_stopped_while_the_others_go_on():
    """Those of a shard that another replica will own; a reconcile in progress may finish."""

    async def scenario() -> tuple[list[str], list[str], list[str]]:
        started: list[str] = []
        ended: list[str] = []

        async def reconcile(key: str) -> bool:
            started.append(key)
            await virtual_time.passes(2)
            ended.append(key)
            return True

        running = controller(reconcile)
        for key in ("shop/a", "bank/a"):
            running.enqueue(key, UID)
        task = asyncio.create_task(run_for(running, 50))
        await virtual_time.passes(16)
        await running.stop(lambda key: key.startswith("shop/"))
        at_the_stop = list(ended)
        await task
        return at_the_stop, started, ended

    at_the_stop, started, ended = virtual_time.run(scenario())
    assert "shop/a" in at_the_stop
    assert started.count("shop/a") == ended.count("shop/a") == 1
    assert started.count("bank/a") == 3


def test_the_time_to_finish_is_an_option():
    async def scenario() -> float:
        async def reconcile(_: str) -> bool:
            await asyncio.Event().wait()
            return True

        running = controller(reconcile, drain_seconds=1.0)
        running.enqueue("ns/a", UID)
        await run_for(running, 16)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(scenario()) == pytest.approx(17, abs=0.1)


def test_a_reconcile_that_changes_nothing_needs_no_task():
    async def scenario() -> tuple[list[float], int]:
        repeated: list[float] = []
        tasks = 0

        def repeat(_: str) -> bool:
            repeated.append(asyncio.get_running_loop().time())
            return len(repeated) % 3 != 0

        async def reconcile(_: str) -> bool:
            nonlocal tasks
            tasks += 1
            return True

        running = controller(reconcile, repeat=repeat, concurrent=1)
        running.enqueue("ns/a", UID)
        await run_for(running, 100)
        return repeated, tasks

    assert virtual_time.run(scenario()) == ([15.0, 30.0, 45.0, 60.0, 75.0, 90.0], 2)


def test_others_get_their_turn_between_many_reconciles_that_change_nothing():
    async def scenario() -> tuple[int, int]:
        repeated, seen = 0, []
        loop = asyncio.get_running_loop()
        # Each takes a millisecond.
        offset_seconds = 0.0

        def repeat(_: str) -> bool:
            nonlocal repeated, offset_seconds
            repeated += 1
            offset_seconds += 0.001
            if repeated == 1:
                loop.call_soon(lambda: seen.append(repeated))
            return True

        async def reconcile(_: str) -> bool:
            return True

        running = controller(
            reconcile, repeat=repeat, monotonic=lambda: loop.time() + offset_seconds
        )
        for number in range(100):
            running.enqueue(f"ns/{number}", UID)
        await run_for(running, 16)
        return seen[0], repeated

    seen, repeated = virtual_time.run(scenario())
    assert seen < 10
    assert repeated == 100


def test_a_crash_of_the_shortcut_is_logged_and_the_autoscaler_reconciled(
    caplog: pytest.LogCaptureFixture,
):
    async def scenario() -> tuple[int, float]:
        reconciles = 0

        def repeat(_: str) -> bool:
            raise ZeroDivisionError

        async def reconcile(_: str) -> bool:
            nonlocal reconciles
            reconciles += 1
            return True

        running = controller(reconcile, repeat=repeat)
        running.enqueue("ns/a", UID)
        await run_for(running, 16)
        return reconciles, running._telemetry.crashes_total._value.get()

    with caplog.at_level(logging.ERROR):
        assert virtual_time.run(scenario()) == (1, 1.0)
    assert "the reconcile of ns/a crashed" in caplog.text
