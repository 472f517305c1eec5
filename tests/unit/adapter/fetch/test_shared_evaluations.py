"""Evaluations are shared in flight and while fresh; failures are not kept."""

import asyncio

import pytest

from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import (
    FOR_AUTOSCALER,
    BackendRef,
    Evaluation,
    Freshness,
    Lane,
    Plan,
    Sample,
    Sending,
)
from adapter.ports import QueryFailed
from tests.fakes import virtual_time
from tests.fakes.clock import FakeClock

PLAN = Plan("up")
OTHER = Plan("up", BackendRef("second"))


class SlowEvaluator:
    """Answers when the test lets it, and records the plans."""

    def __init__(self) -> None:
        self.requested: list[Plan] = []
        self.may_answer = asyncio.Event()
        self.fails = False

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        self.requested.append(plan)
        await self.may_answer.wait()
        if self.fails:
            raise QueryFailed(
                backend=plan.backend.name, query=plan.query, cause="down", retryable=True
            )
        return Evaluation(samples=(), evaluated_at_seconds=float(len(self.requested)))


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def behind():
    return SlowEvaluator()


@pytest.fixture
def shared(behind, clock):
    return SharedEvaluations(behind, freshness=Freshness.always(1.0), monotonic=clock)


async def test_fifty_callers_share_one_query(shared, behind):
    callers = [asyncio.create_task(shared.evaluate(PLAN)) for _ in range(50)]
    await asyncio.sleep(0)
    behind.may_answer.set()
    answers = await asyncio.gather(*callers)
    assert behind.requested == [PLAN]
    assert len({id(answer) for answer in answers}) == 1


async def test_a_cancelled_caller_does_not_cancel_the_others(shared, behind):
    leaving, staying = (asyncio.create_task(shared.evaluate(PLAN)) for _ in range(2))
    await asyncio.sleep(0)
    leaving.cancel()
    await asyncio.sleep(0)
    behind.may_answer.set()
    assert (await staying).evaluated_at_seconds == 1
    assert behind.requested == [PLAN]


async def test_a_failure_after_every_caller_was_cancelled_is_silent(shared, behind):
    behind.fails = True
    leaving = asyncio.create_task(shared.evaluate(PLAN))
    await asyncio.sleep(0)
    leaving.cancel()
    behind.may_answer.set()
    await asyncio.gather(leaving, return_exceptions=True)
    behind.fails = False
    assert await shared.evaluate(PLAN)


@pytest.mark.parametrize(
    ("later_seconds", "requested"),
    [
        pytest.param(0.0, 1, id="at once"),
        pytest.param(0.9, 1, id="just fresh"),
        pytest.param(1.0, 2, id="no longer fresh"),
    ],
)
async def test_an_answer_serves_again_only_while_it_is_fresh(
    shared, behind, clock, later_seconds, requested
):
    behind.may_answer.set()
    await shared.evaluate(PLAN)
    clock.seconds += later_seconds
    await shared.evaluate(PLAN)
    assert len(behind.requested) == requested


@pytest.mark.parametrize(
    ("taken_seconds", "later_seconds", "requested"),
    [
        pytest.param(0.4, 0.59, 1, id="within a second of the request"),
        pytest.param(0.4, 0.6, 2, id="not within a second of the response"),
        pytest.param(0.8, 0.79, 1, id="not yet twice as old as it was when it arrived"),
        pytest.param(0.8, 0.8, 2, id="twice as old"),
        pytest.param(20.0, 0.99, 1, id="less than the bound older than when it arrived"),
        pytest.param(20.0, 1.0, 2, id="older than that"),
    ],
)
async def test_age_counts_from_the_request_and_only_a_slow_response_may_be_older_than_the_bound(
    shared, behind, clock, taken_seconds, later_seconds, requested
):
    waiting = asyncio.create_task(shared.evaluate(PLAN))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.seconds += taken_seconds
    behind.may_answer.set()
    await waiting
    clock.seconds += later_seconds
    await shared.evaluate(PLAN)
    assert len(behind.requested) == requested


async def test_without_a_bound_a_slow_response_is_not_reused_either(behind, clock):
    shared = SharedEvaluations(behind, freshness=Freshness.always(0.0), monotonic=clock)
    waiting = asyncio.create_task(shared.evaluate(PLAN))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    clock.seconds += 2.0
    behind.may_answer.set()
    await waiting
    await shared.evaluate(PLAN)
    assert len(behind.requested) == 2


async def test_equal_queries_of_different_backends_are_not_shared(shared, behind):
    behind.may_answer.set()
    await shared.evaluate(PLAN)
    await shared.evaluate(OTHER)
    assert behind.requested == [PLAN, OTHER]


async def test_a_failure_is_raised_to_every_waiter_and_is_not_kept(shared, behind):
    behind.fails = True
    behind.may_answer.set()
    outcomes = await asyncio.gather(
        shared.evaluate(PLAN), shared.evaluate(PLAN), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [QueryFailed, QueryFailed]
    behind.fails = False
    assert await shared.evaluate(PLAN)
    assert len(behind.requested) == 2


async def test_what_is_no_longer_fresh_takes_no_memory(shared, behind, clock):
    behind.may_answer.set()
    for number in range(100):
        await shared.evaluate(Plan(f"up{number}"))
        clock.seconds += 0.1
    assert len(shared._fresh) <= 11


async def test_the_memory_of_all_results_is_bounded_whatever_it_is_for(clock):
    class Large:
        async def evaluate(self, plan, sending=FOR_AUTOSCALER):
            sample = Sample({"many": "labels"}, 1.0, 1.0)
            return Evaluation(samples=(sample,), evaluated_at_seconds=1.0, size_bytes=560_000)

    shared = SharedEvaluations(
        Large(), freshness=Freshness.always(60.0), bytes_max=3_000_000, monotonic=clock
    )
    for number in range(10):
        await shared.evaluate(Plan(f"up{number}"))
    assert 3 <= len(shared._fresh) <= 7
    assert shared.size_bytes <= 3_000_000


async def test_the_width_of_the_characters_of_a_query_counts(clock):
    shared = SharedEvaluations(Rows(0), freshness=Freshness.always(60.0), monotonic=clock)
    await shared.evaluate(Plan("\U0001f600" + "x" * 10_000))
    assert shared.size_bytes > 40_000
    clock.seconds += 100.0
    await shared.evaluate(Plan("up"))
    assert shared.size_bytes < 2_000


async def test_results_without_rows_are_bounded_by_their_queries(clock):
    shared = SharedEvaluations(
        Rows(0), freshness=Freshness.always(60.0), bytes_max=1_000_000, monotonic=clock
    )
    for number in range(200):
        await shared.evaluate(Plan(f"up{number} " + "x" * 10_000))
    assert 50 < len(shared._fresh) < 100
    assert shared.size_bytes <= 1_000_000


class Rows:
    """Answers at once with so many rows."""

    def __init__(self, rows):
        self._rows = rows
        self.sent = 0

    async def evaluate(self, plan, sending=FOR_AUTOSCALER):
        self.sent += 1
        return Evaluation(samples=(Sample({}, 1.0, 1.0),) * self._rows, evaluated_at_seconds=1.0)


@pytest.mark.parametrize(
    ("freshness", "rows", "bound_seconds"),
    [
        pytest.param(Freshness(), 0, 1.0, id="empty"),
        pytest.param(Freshness(), 1_000, 1.0, id="small"),
        pytest.param(Freshness(), 2_000, 2.0, id="a second per 1,000 rows"),
        pytest.param(Freshness(), 50_000, 3.0, id="at most 3 s"),
        pytest.param(Freshness.always(1.0), 50_000, 1.0, id="a set bound is kept"),
        pytest.param(Freshness.always(30.0), 50_000, 30.0, id="also a longer one"),
    ],
)
async def test_a_result_is_reused_as_long_as_its_rows_allow(clock, freshness, rows, bound_seconds):
    behind = Rows(rows)
    shared = SharedEvaluations(behind, freshness=freshness, monotonic=clock)
    await shared.evaluate(PLAN)
    clock.seconds += bound_seconds - 0.01
    await shared.evaluate(PLAN)
    assert behind.sent == 1
    clock.seconds += 0.02
    await shared.evaluate(PLAN)
    assert behind.sent == 2


async def test_a_large_result_in_continuous_use_costs_a_query_per_3_s(clock):
    behind = Rows(6_000)
    shared = SharedEvaluations(behind, freshness=Freshness(), monotonic=clock)
    for tenth in range(600):
        clock.seconds = 100.0 + tenth / 10
        await shared.evaluate(PLAN)
    assert behind.sent <= 60 / 3 + 1


async def test_an_autoscaler_does_not_wait_for_a_query_that_lets_others_go_first(shared, behind):
    command = asyncio.create_task(shared.evaluate(PLAN, Sending(lane=Lane.COMMAND)))
    await asyncio.sleep(0)
    autoscaler = asyncio.create_task(shared.evaluate(PLAN))
    for _ in range(5):
        await asyncio.sleep(0)
    assert behind.requested == [PLAN, PLAN]
    behind.may_answer.set()
    await asyncio.gather(command, autoscaler)
    await shared.evaluate(PLAN, Sending(lane=Lane.COMMAND))
    assert behind.requested == [PLAN, PLAN], "a fresh result is that of all"


async def test_a_query_that_was_sent_earlier_does_not_replace_a_newer_result(clock):
    """An explanation waits behind autoscalers, so its query may end after one that was sent later."""

    class ByLane:
        def __init__(self) -> None:
            self.may_answer = {lane: asyncio.Event() for lane in Lane}
            self.is_sent = asyncio.Event()

        async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
            sent_at = clock.seconds
            self.is_sent.set()
            await self.may_answer[sending.lane].wait()
            return Evaluation(samples=(), evaluated_at_seconds=sent_at)

    behind = ByLane()
    shared = SharedEvaluations(behind, freshness=Freshness.always(5.0), monotonic=clock)
    explaining = asyncio.create_task(shared.evaluate(PLAN, Sending(lane=Lane.COMMAND)))
    await behind.is_sent.wait()
    clock.seconds += 2.0
    behind.may_answer[Lane.AUTOSCALER].set()
    newer = await shared.evaluate(PLAN)
    behind.may_answer[Lane.COMMAND].set()
    assert (await explaining).evaluated_at_seconds == newer.evaluated_at_seconds - 2.0
    assert await shared.evaluate(PLAN) is newer


async def test_fresh_results_are_there_without_waiting_until_one_is_too_old(shared, behind, clock):
    behind.may_answer.set()
    first = await shared.evaluate(PLAN)
    assert shared.fresh([PLAN]) == [first]
    assert shared.fresh([PLAN, OTHER]) is None
    clock.seconds += 0.5
    second = await shared.evaluate(OTHER)
    assert shared.fresh([PLAN, OTHER]) == [first, second]
    clock.seconds += 0.5
    assert shared.fresh([PLAN, OTHER]) is None
    assert shared.fresh([OTHER]) == [second]


def test_after_a_hang_of_prometheus_the_next_request_sends_a_query_of_its_own():
    """The query that hangs has a timeout of 30 s, and every autoscaler of the metric would wait for it."""

    async def scenario() -> None:
        behind = SlowEvaluator()
        shared = SharedEvaluations(behind, freshness=Freshness.always(1.0))
        hanging = asyncio.create_task(shared.evaluate(PLAN))
        await virtual_time.passes(15.0)
        answered = asyncio.create_task(shared.evaluate(PLAN))
        await virtual_time.passes(0.001)
        assert len(behind.requested) == 2
        behind.may_answer.set()
        await asyncio.gather(hanging, answered)

    virtual_time.run(scenario())
