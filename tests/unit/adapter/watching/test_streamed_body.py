"""A response that is too large for a stream."""

from adapter.watching.sources import REFUSED_SECONDS
from tests.traced_memory import traced_memory
from tests.unit.adapter.watching.test_rounds import World, document, request
from wire.api.custom_metrics import MetricIdentifier, MetricValue, MetricValueList
from wire.api.meta import LabelSelector


async def test_a_response_that_is_too_large_is_refused_for_a_while_and_takes_no_memory():
    """It repeats a long selector in each item."""
    selector = LabelSelector(match_labels={"a": "b" * 100_000})
    metric = MetricIdentifier(name="load", selector=selector)
    world = World()
    watched = world.rounds.watch(request())
    world.answers.responses["queue"] = MetricValueList(
        items=[MetricValue(metric=metric, value="1") for _ in range(300)]
    )
    with traced_memory() as memory:
        await world.rounds.round()
        assert (watched.code, watched.version) == (429, 1)
        assert b"the response has more than 8 MiB, so this one is not streamed now" in watched.body
        assert memory.peak_bytes < 2_000_000
    world.answers.responses["queue"] = document("1")
    world.seconds += REFUSED_SECONDS - 1
    await world.rounds.round()
    assert watched.code == 429, "it is not encoded in each round"
    world.seconds += 1
    await world.rounds.round()
    assert (watched.code, watched.version) == (200, 2)
