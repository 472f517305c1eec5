"""Equal questions are asked once."""

import asyncio
from collections.abc import Mapping

import pytest

from scaler.gather.questions import SharedQuestions
from scaler.telemetry import Telemetry
from wire.status import Unavailable

PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"


class SlowKube:
    """Answers when told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.error: Exception | None = None

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> bytes:
        self.asked += 1
        await self.may_answer.wait()
        if self.error:
            raise self.error
        return f"{self.asked}".encode()


class Clock:
    def __init__(self) -> None:
        self.now_seconds = 100.0

    def __call__(self) -> float:
        return self.now_seconds


def shared(kube: SlowKube, clock: Clock, fresh_seconds: float = 1.0) -> SharedQuestions:
    return SharedQuestions(kube, Telemetry(), fresh_seconds=fresh_seconds, monotonic=clock)


async def test_those_who_ask_the_same_at_once_share_one_answer():
    kube = SlowKube()
    questions = shared(kube, Clock())
    asking = [asyncio.create_task(questions.get(PATH, {"a": "1", "b": "2"})) for _ in range(50)]
    asking.append(asyncio.create_task(questions.get(PATH, {"b": "2", "a": "1"})))
    await asyncio.sleep(0)
    kube.may_answer.set()
    assert set(await asyncio.gather(*asking)) == {b"1"}
    assert kube.asked == 1


async def test_different_questions_are_asked_apart():
    kube = SlowKube()
    kube.may_answer.set()
    questions = shared(kube, Clock())
    await questions.get(PATH)
    await questions.get(PATH, {"labelSelector": "a=b"})
    assert kube.asked == 2


@pytest.mark.parametrize(
    ("age_seconds", "asked"),
    [pytest.param(0.9, 1, id="fresh"), pytest.param(1.0, 2, id="too old")],
)
async def test_an_answer_serves_for_a_moment_only(age_seconds, asked):
    kube, clock = SlowKube(), Clock()
    kube.may_answer.set()
    questions = shared(kube, clock)
    await questions.get(PATH)
    clock.now_seconds += age_seconds
    await questions.get(PATH)
    assert kube.asked == asked


async def test_an_error_serves_only_those_who_waited_for_it():
    kube = SlowKube()
    kube.error = Unavailable("down")
    kube.may_answer.set()
    questions = shared(kube, Clock())
    with pytest.raises(Unavailable, match="down"):
        await questions.get(PATH)
    kube.error = None
    assert await questions.get(PATH) == b"2"


async def test_one_asker_who_gives_up_does_not_fail_the_others():
    kube = SlowKube()
    questions = shared(kube, Clock())
    first, second = (asyncio.create_task(questions.get(PATH)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    kube.may_answer.set()
    assert await second == b"1"
    assert first.cancelled()


async def test_what_is_too_old_to_serve_is_not_kept():
    kube, clock = SlowKube(), Clock()
    kube.may_answer.set()
    questions = shared(kube, clock)
    for number in range(100):
        await questions.get(f"{PATH}{number}")
    clock.now_seconds += 2
    await questions.get(PATH)
    assert len(questions._asked) == 1
