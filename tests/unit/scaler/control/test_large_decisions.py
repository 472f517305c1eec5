"""A decision from many values is made in a thread, and is the same."""

import pytest

from scaler.algorithm.decide import decide
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import PodSpec, TargetPods
from scaler.algorithm.plan import plan
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.cluster.work import Work
from scaler.control.large_decisions import VALUES_AT_ONCE_MAX, decided, is_large
from tests.other_tasks import turns_during
from tests.unit.scaler.objects import (
    FLAGS,
    NOW,
    average,
    container,
    observed,
    of_pods,
    pod,
    pods,
    samples,
    spec,
)

COUNT = 300


def many() -> tuple[Ask, TargetPods, list]:
    """A hundred metrics of 300 pods."""
    metrics = [of_pods(average("10"), name=f"requests_{number}") for number in range(100)]
    ask = plan(observed(spec(*metrics, max_replicas=1_000), replicas=COUNT), Memory(), FLAGS, NOW)
    assert isinstance(ask, Ask)
    readings = [
        samples({f"web-{pod}": 9_000 + number * 100 for pod in range(COUNT)})
        for number in range(100)
    ]
    return ask, TargetPods(pods=pods(COUNT), controlled_by=("shop/web",)), readings


async def test_other_tasks_go_on_while_a_large_decision_is_made():
    ask, target_pods, readings = many()

    async def reconcile() -> object:
        return await decided(ask, target_pods, readings, NOW)

    work = Work(lambda: 0.0)
    decision, turns = await turns_during(work.of(reconcile()))
    assert turns > 1
    assert work.seconds > 0, "what the thread does counts, too"
    expected = decide(ask, target_pods, readings, NOW)
    assert decision.desired_replicas == expected.desired_replicas
    assert decision.derivation == expected.derivation


async def test_what_a_large_decision_raises_is_raised():
    ask, target_pods, readings = many()
    with pytest.raises(ValueError, match="101 readings for 100 metrics"):
        await decided(ask, target_pods, [*readings, readings[0]], NOW)


OF_TEN_CONTAINERS = PodSpec(containers=tuple(container(f"c{number}") for number in range(10)))


@pytest.mark.parametrize(
    ("reading", "count", "expected"),
    [
        pytest.param(samples({}), 1_700, False, id="metrics of a pod with ten containers"),
        pytest.param(samples({}), 1_900, True, id="more"),
        pytest.param(ExternalValues((1,) * VALUES_AT_ONCE_MAX), 1, False, id="series"),
        pytest.param(ExternalValues((1,) * VALUES_AT_ONCE_MAX), 2, True, id="more series"),
        pytest.param(MetricFailed("down"), 30_000, False, id="failed metrics"),
    ],
)
def test_what_counts_is_how_many_values_are_read(reading, count, expected):
    target_pods = TargetPods(pods=(pod("web-0", spec=OF_TEN_CONTAINERS),))
    assert is_large(target_pods, [reading] * count) is expected
