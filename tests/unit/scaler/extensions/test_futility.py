"""`behavior.scaleUp.futility`: no pods are added while those that were added do not become ready."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import Behavior, ScaleUpRules
from scaler.api.extension_spec import Futility, Panic
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    few_examples,
    observed,
    pod,
    pods,
    rules,
    spec,
)
from wire.api.meta import time_from_unix

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)


def with_futility(futility=None, panic=None):
    up = ScaleUpRules(stabilization_window_seconds=0, futility=futility or Futility(), panic=panic)
    behavior = Behavior(scale_up=up, scale_down=rules())
    return spec(external(average("10")), max_replicas=50, behavior=behavior)


def unready(name, seconds, **changes):
    return pod(name, ready="False", turned_seconds_ago=seconds, **changes)


def unscheduled(name, seconds):
    """A pod without a node has neither a start time nor a Ready condition."""
    found = pod(name, phase="Pending", ready=None, started_seconds_ago=None)
    created = time_from_unix(NOW - seconds)
    metadata = msgspec.structs.replace(found.metadata, creation_timestamp=created)
    return msgspec.structs.replace(found, metadata=metadata)


def desired(length, *extra, of=None, replicas=10):
    return decided(
        observed(of or with_futility(), replicas=replicas),
        (ExternalValues((length * 1000,)),),
        memory=Memory(recommendations=()),
        settings=LA,
        target_pods=(*pods(3), *extra),
    )


FIVE = [unready(f"new-{number}", 300) for number in range(5)]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        pytest.param(FIVE, 10, id="five pods for five minutes"),
        pytest.param(FIVE[:4], 14, id="one less"),
        pytest.param([*FIVE[:4], unready("new-5", 299)], 14, id="one not for long enough"),
        pytest.param([*FIVE[:4], unscheduled("new-5", 300)], 10, id="one without a node"),
        pytest.param([*FIVE[:4], unscheduled("new-5", 299)], 14, id="one that is new"),
        pytest.param([*FIVE[:4], unready("new-5", 300, deleted=True)], 14, id="one is leaving"),
        pytest.param([*FIVE[:4], unready("new-5", 300, phase="Failed")], 14, id="one has failed"),
        pytest.param([*FIVE[:4], pod("new-5")], 14, id="one is ready"),
    ],
)
def test_pods_that_do_not_become_ready_stop_the_climb(extra, expected):
    assert desired(140, *extra).desired_replicas == expected


def test_scaling_down_goes_on():
    assert desired(20, *FIVE).desired_replicas == 2


def test_it_stops_a_panic_too():
    of = with_futility(panic=Panic())
    assert desired(400, *FIVE, of=of).desired_replicas == 10


def test_the_minimum_is_still_enforced():
    of = msgspec.structs.replace(with_futility(), min_replicas=12)
    assert desired(400, *FIVE, of=of).desired_replicas == 12


def test_its_numbers_are_those_of_the_spec():
    of = with_futility(Futility(ready_timeout_seconds=30, max_unready_replicas=1))
    assert desired(140, unready("new-1", 30), of=of).desired_replicas == 10
    assert desired(140, unready("new-1", 29), of=of).desired_replicas == 14


def test_users_read_which_pods_are_not_ready():
    decision = desired(140, *FIVE)
    outcome = settle(decision, NotNeeded(), NOW)
    found = {each.type: each for each in outcome.status.conditions or ()}["FutileScaleUp"]
    assert (found.status, found.reason, found.message) == (
        "True",
        "PodsNotReady",
        "no scale-up, because 5 pods have been unready for 300 s: new-0, new-1, new-2 and 2 more",
    )
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "FutileScaleUp"
    assert (
        explain(decision.derivation, EXTENSIONS)
        .splitlines()[-1]
        .endswith("Without that, the replica count would be 14.")
    )
    fine = settle(desired(140, *FIVE[:4]), NotNeeded(), NOW)
    found = {each.type: each for each in fine.status.conditions or ()}["FutileScaleUp"]
    assert (found.status, found.reason) == ("False", "PodsBecomeReady")


@few_examples
@given(
    length=st.integers(0, 500),
    ages=st.lists(st.integers(0, 600), max_size=12),
    replicas=st.integers(1, 40),
    limit=st.integers(1, 8),
)
def test_it_only_ever_keeps_the_count_instead_of_a_higher_one(length, ages, replicas, limit):
    extra = [unready(f"new-{number}", age) for number, age in enumerate(ages)]
    guarded = with_futility(Futility(ready_timeout_seconds=300, max_unready_replicas=limit))
    up = ScaleUpRules(stabilization_window_seconds=0)
    behavior = Behavior(scale_up=up, scale_down=rules())
    free = spec(external(average("10")), max_replicas=50, behavior=behavior)
    held = desired(length, *extra, of=guarded, replicas=replicas).desired_replicas
    without = desired(length, *extra, of=free, replicas=replicas).desired_replicas
    stuck = sum(age >= 300 for age in ages)
    assert held == (min(without, replicas) if stuck >= limit else without)
