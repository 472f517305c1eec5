"""While the cached objects are out of date nothing is scaled down; scaling up stays possible."""

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded, Rescaled
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.algorithm.test_decide import conditions, queue
from tests.unit.scaler.objects import NOW, decided, observed, recommended, spec

OUTDATED = "the cached pods were last confirmed by the API server 7m0s ago"


def decision_of(replicas, readings, *, outdated, **bounds):
    seen = msgspec.structs.replace(observed(spec(**bounds), replicas=replicas), outdated=outdated)
    return decided(seen, readings, memory=recommended((1, 900)), settings=Settings())


@pytest.mark.deviation("outdated-cache")
@pytest.mark.parametrize(
    ("replicas", "bounds", "fresh"),
    [
        pytest.param(8, {}, 2, id="by metrics"),
        pytest.param(20, {"max_replicas": 10}, 10, id="above the maximum"),
    ],
)
def test_nothing_is_scaled_down_by_outdated_objects(replicas, bounds, fresh):
    assert decision_of(replicas, queue(20), outdated=None, **bounds).desired_replicas == fresh
    decision = decision_of(replicas, queue(20), outdated=OUTDATED, **bounds)
    assert (decision.desired_replicas, decision.rescale) == (replicas, False)
    outcome = settle(decision, NotNeeded(), NOW)
    message = f"not scaled down from {replicas} to {fresh}: {OUTDATED}"
    assert conditions(outcome)["ScalingLimited"] == ("True", "OutdatedCache", message)
    assert f"It is {message}." in explain(outcome.derivation, EXTENSIONS)


@pytest.mark.deviation("outdated-cache")
def test_scaling_up_stays_possible():
    decision = decision_of(3, queue(50), outdated=OUTDATED)
    assert (decision.desired_replicas, decision.rescale) == (5, True)
    outcome = settle(decision, Rescaled(), NOW)
    assert conditions(outcome)["ScalingLimited"][1] != "OutdatedCache"
