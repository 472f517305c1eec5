"""A backend that answers too late delays no other metrics, and one late answer leaves its metrics to GETs only until the next round."""

import asyncio
import itertools

import msgspec
import pytest

from adapter.model import BackendRef
from adapter.watching.rounds import ANSWER_SECONDS, CONCURRENT, Rounds
from adapter.watching.sources import (
    HUNG_SECONDS,
    LISTING_SECONDS,
    REFUSED_SECONDS,
    NotEvaluated,
    Sources,
)
from tests.fakes import virtual_time
from tests.unit.adapter.watching.test_rounds import document, query_of, request
from wire.api.status import Status, internal_error


class Hanging:
    """Two backends: `queue` is of one that answers, everything else of one that does not."""

    def __init__(self, slow=(), timeout_seconds=30.0):
        self.slow = set(slow)
        self.timeout_seconds = timeout_seconds
        self.waited = []

    async def answer(self, requested, observer):
        metric = requested.request.metric
        hangs = metric not in ("queue", "depth")
        observer.query_built(query_of(metric, "hung" if hangs else "default"))
        if hangs or metric in self.slow:
            self.waited.append(metric)
            await virtual_time.passes(self.timeout_seconds)
            raise internal_error("no answer")
        return document("1")


def in_virtual_time(answers, metrics, rounds=1):
    """The watched requests, and how long each round took."""
    seconds = []

    async def scenario():
        loop = asyncio.get_running_loop()
        world = Rounds(answers.answer, monotonic=loop.time)
        watched = [world.watch(request(each)) for each in metrics]
        for _ in range(rounds):
            began_at = loop.time()
            await world.round()
            seconds.append(loop.time() - began_at)
        return watched

    return virtual_time.run(scenario()), seconds


@pytest.mark.parametrize("timeout_seconds", [1.0, 30.0])
def test_a_backend_that_hangs_does_not_stop_the_metrics_of_others(timeout_seconds):
    metrics = [*(f"hung{number}" for number in range(1_000)), "queue"]
    answers = Hanging(timeout_seconds=timeout_seconds)
    (*hung, queue), seconds = in_virtual_time(answers, metrics, rounds=3)
    assert queue.code == 200
    assert {each.code for each in hung} == {429}, "a client sends a GET"
    assert b"send a GET" in hung[0].body
    assert seconds[0] <= 2 * ANSWER_SECONDS
    assert seconds[1:] == [min(timeout_seconds, ANSWER_SECONDS), 0.0], (
        "it is tried again once, and not in each round"
    )
    assert len(answers.waited) <= 4 * CONCURRENT


def test_a_slow_query_does_not_refuse_the_others_of_its_backend():
    metrics = ["depth", *["queue"] * 3]
    (slow, *others), _ = in_virtual_time(Hanging(slow=["depth"]), metrics)
    assert (slow.code, {each.code for each in others}) == (429, {200})


class Late(Hanging):
    """Its backend answers nothing in time until it has recovered."""

    def __init__(self):
        super().__init__()
        self.has_recovered = False

    async def answer(self, requested, observer):
        if self.has_recovered:
            observer.query_built(query_of("any", "hung"))
            observer.result_received()
            return document("1")
        return await super().answer(requested, observer)


def retry_after_seconds(watched):
    details = msgspec.json.decode(watched.body, type=Status).details
    return details.retry_after_seconds if details else 0


def test_after_one_late_answer_all_are_evaluated_in_the_next_round():
    async def scenario():
        answers = Late()
        rounds = Rounds(answers.answer, monotonic=asyncio.get_running_loop().time)
        watched = [rounds.watch(request(f"hung{number}")) for number in range(1_000)]
        await rounds.round()
        assert {each.code for each in watched} == {429}
        assert {retry_after_seconds(each) for each in watched} == {1}, "a client continues to watch"
        answers.has_recovered = True
        await rounds.round()
        assert {each.code for each in watched} == {200}

    virtual_time.run(scenario())


def test_an_answer_after_others_have_waited_too_long_changes_nothing_for_those_that_follow():
    sources, backend = Sources(), BackendRef("slow")
    assert sources.waited(backend, 0.6, 2.6).is_temporary
    sources.succeeded(backend, 2.7)
    with pytest.raises(NotEvaluated, match="has not responded to other metrics"):
        sources.check(backend, 2.8)
    assert sources.waited(backend, 1.0, 3.0).is_temporary
    sources.round_begins()
    sources.check(backend, 4.0)
    assert sources.waited(backend, 4.0, 6.0).seconds == HUNG_SECONDS[0], "it begins again"


@pytest.mark.parametrize(
    ("source", "pauses"), [(BackendRef("a"), HUNG_SECONDS), ("pods", LISTING_SECONDS)]
)
def test_all_requests_of_a_source_are_tried_again_at_the_same_time(source, pauses):
    sources = Sources()
    for number, pause_seconds in enumerate(pauses):
        sources.round_begins()
        now_seconds = 100.0 * number
        first = sources.waited(source, now_seconds, now_seconds + 2.0)
        assert (first.seconds, first.is_temporary) == (
            pause_seconds,
            pause_seconds < REFUSED_SECONDS,
        )
        later = sources.waited(source, now_seconds, now_seconds + 3.0)
        assert later.seconds == max(0.0, pause_seconds - 1.0)
        assert later.is_temporary is first.is_temporary


def test_a_backend_that_goes_on_to_hang_is_tried_less_and_less_often():
    async def scenario():
        answers, loop = Late(), asyncio.get_running_loop()
        rounds = Rounds(answers.answer, monotonic=loop.time)
        watched = rounds.watch(request("hung"))
        tried, goes_on = [], []
        for _ in range(300):
            count = len(answers.waited)
            began_at = loop.time()
            await rounds.round()
            if len(answers.waited) > count:
                tried.append(began_at)
                goes_on.append(retry_after_seconds(watched) > 0)
            await virtual_time.passes(1.0)
        pauses = [
            round(later - earlier - ANSWER_SECONDS) for earlier, later in itertools.pairwise(tried)
        ]
        assert pauses[:4] == [max(1.0, each) for each in HUNG_SECONDS]
        assert goes_on[:4] == [True, True, True, False]
        answers.has_recovered = True
        await virtual_time.passes(HUNG_SECONDS[-1])
        await rounds.round()
        answers.has_recovered = False
        assert watched.code == 200
        await rounds.round()
        assert retry_after_seconds(watched) > 0, "it begins again"

    virtual_time.run(scenario())
