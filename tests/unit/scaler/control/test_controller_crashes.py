"""A reconcile that keeps crashing is logged once."""

import logging

import pytest

from tests.fakes import virtual_time
from tests.unit.scaler.control.test_controller import UID, controller, run_for


def test_a_reconcile_that_keeps_crashing_is_logged_once(caplog: pytest.LogCaptureFixture):
    async def scenario() -> float:
        async def reconcile(_: str) -> bool:
            raise ZeroDivisionError

        running = controller(reconcile)
        running.enqueue("ns/a", UID)
        await run_for(running, 151)
        return running._telemetry.crashes_total._value.get()

    with caplog.at_level(logging.ERROR):
        assert virtual_time.run(scenario()) == 10.0
    assert caplog.text.count("the reconcile of ns/a crashed") == 1


def test_a_crash_after_the_autoscaler_was_given_up_and_taken_over_again_is_logged(
    caplog: pytest.LogCaptureFixture,
):
    async def scenario() -> None:
        async def reconcile(_: str) -> bool:
            raise ZeroDivisionError

        running = controller(reconcile)
        for _ in range(2):
            running.enqueue("ns/a", UID)
            await run_for(running, 31)

    with caplog.at_level(logging.ERROR):
        virtual_time.run(scenario())
    assert caplog.text.count("the reconcile of ns/a crashed") == 2
