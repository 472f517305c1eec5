"""A bug in a round costs the clients that round: they send GETs until the next one has ended."""

import asyncio

import pytest
from prometheus_client import REGISTRY

from adapter.watching.rounds import Rounds
from tests.fakes import virtual_time
from tests.unit.adapter.watching.test_rounds import Client, document, request


def crashes_total():
    return REGISTRY.get_sample_value("loadline_adapter_crashes_total")


class CrashingClient(Client):
    """A listener that fails at the end of its first rounds."""

    def __init__(self, crashes):
        super().__init__()
        self._crashes = crashes

    def round_ended(self):
        if self._crashes:
            self._crashes -= 1
            raise OverflowError("cannot convert float infinity to integer")
        super().round_ended()


def run_rounds(client, *, seconds, **options):
    """What `rounds.run` does in this time. Fails if it ends."""

    async def answer(*_):
        return document("1")

    async def scenario():
        monotonic = asyncio.get_running_loop().time
        rounds = Rounds(answer, monotonic=monotonic, busy_seconds=lambda: 0.0, **options)
        rounds.watch(request())
        rounds.join(client)
        running = asyncio.create_task(rounds.run())
        await virtual_time.passes(seconds)
        assert not running.done()
        running.cancel()

    virtual_time.run(scenario())


def test_a_round_that_crashes_is_not_confirmed_and_the_next_one_is():
    client, before = CrashingClient(crashes=1), crashes_total()
    run_rounds(client, period_seconds=1.0, seconds=1.5)
    assert client.log == ["begins", "begins", "ended"]
    assert crashes_total() == before + 1


def test_a_crash_that_stays_the_same_is_logged_once(caplog):
    run_rounds(CrashingClient(crashes=3), period_seconds=1.0, seconds=4.5)
    crashed = [each for each in caplog.records if "crashed" in each.message]
    assert [each.exc_info[0] for each in crashed] == [OverflowError]


def test_rounds_follow_each_other_by_their_period_while_the_next_samples_cannot_be_computed():
    def next_samples(_after_seconds):
        raise OverflowError("cannot convert float infinity to integer")

    client, before = Client(), crashes_total()
    run_rounds(client, period_seconds=1.0, seconds=2.5, next_samples=next_samples)
    assert client.log == ["begins", "ended"] * 3
    assert crashes_total() == before + 3


def test_a_crash_outside_the_evaluation_of_a_request_ends_the_other_evaluations_of_the_round():
    """Otherwise they would go on beside those of the next round."""
    evaluated = []

    async def answer(known, _observer):
        name = known.request.metric
        if name == "slow":
            await virtual_time.passes(0.5)
        evaluated.append(name)
        return document("1")

    async def scenario(monkeypatch):
        rounds = Rounds(answer, monotonic=asyncio.get_running_loop().time)
        rounds.watch(request("slow"))
        crashing = rounds.watch(request("crashing"))
        monkeypatch.setattr(rounds.budget, "take", lambda _: 1 / 0)
        with pytest.raises(ExceptionGroup):
            await rounds.round()
        await virtual_time.passes(1.0)
        return crashing

    with pytest.MonkeyPatch.context() as monkeypatch:
        virtual_time.run(scenario(monkeypatch))
    assert evaluated == ["crashing"]
