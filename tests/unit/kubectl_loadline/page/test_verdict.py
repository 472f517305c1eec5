"""Headline, counts, limits and waterfall of one decision, and how it differs from the stored status."""

import msgspec
import pytest

from kubectl_loadline.page.verdict import difference, verdict
from scaler.algorithm.derivation import Bound
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import AutoscalerStatus, ConditionType
from scaler.extensions import EXTENSIONS
from tests.unit.kubectl_loadline.page.test_waterfall import DECISION
from tests.unit.scaler.objects import autoscaler, spec


def found(derivation=DECISION, status=None, now=1012.0):
    return verdict(derivation, autoscaler(spec(), status=status), EXTENSIONS, now)


def test_it_says_what_is_decided_and_when():
    one = found()
    assert one.headline == "Stays at 13 replicas."
    assert (one.current, one.desired, one.min, one.max) == (13, 13, 0, 50)
    assert (one.decided_at.timestamp(), one.seconds_ago) == (1000.0, 12)


def test_a_status_of_another_reconcile_is_one_sentence_and_changes_nothing_else():
    old = AutoscalerStatus(current_replicas=5, desired_replicas=8)
    one = found(status=old)
    assert (
        one.difference
        == "The status of the object is from another reconcile: 5 current and 8 desired."
    )
    assert msgspec.structs.replace(one, difference="") == found()


@pytest.mark.parametrize(
    "status", [None, AutoscalerStatus(current_replicas=13, desired_replicas=13)]
)
def test_a_status_of_the_same_decision_needs_no_sentence(status):
    assert difference(DECISION, status) == ""


def test_the_count_that_was_desired_before_a_failure_makes_no_difference():
    undecided = msgspec.structs.replace(DECISION, desired_replicas=None)
    assert difference(undecided, AutoscalerStatus(current_replicas=13, desired_replicas=9)) == ""
    assert found(undecided).desired == 13


FALLBACK = Remark(
    condition=ConditionType.METRIC_FALLBACK_ACTIVE, active=True, reason="MetricFailing", message="m"
)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ("window",)),
        ({"stabilization": None}, ()),
        ({"branch": "NoScale", "stabilization": None}, ("target",)),
        ({"branch": "Disabled", "stabilization": None}, ("disabled",)),
        ({"branch": "SharedTarget", "stabilization": None}, ("shared target",)),
        ({"desired_replicas": None, "stabilization": None}, ("metric",)),
        ({"remarks": (FALLBACK,)}, ("window", "fallback")),
        ({"held_by": "OutdatedCache"}, ("window", "outdated cache")),
        ({"bound": Bound(min_replicas=0, max_replicas=13, before=20, after=13, reason="TooManyReplicas")}, ("window", "max")),
    ],
)  # fmt: skip
def test_the_limits_are_those_of_the_decision(changes, expected):
    assert found(msgspec.structs.replace(DECISION, **changes)).limited_by == expected
