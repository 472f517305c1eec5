"""How far the policies let one reconcile go."""

import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Rules
from scaler.algorithm.scaling_policies import scale_down_rate, scale_up_rate
from tests.unit.scaler.objects import NOW, at_most, events

PODS_4 = at_most("Pods", 4, 60)
PERCENT_50 = at_most("Percent", 50, 60)


def limit(rate, memory, current, *policies, select="Max"):
    rules = Rules(window_seconds=0, select_policy=select, policies=policies)
    return rate(memory, current=current, rules=rules, moment=Moment(NOW)).limit


@pytest.mark.parametrize(
    ("current", "policies", "select", "allowed"),
    [
        pytest.param(10, [PODS_4], "Max", 14, id="pods"),
        pytest.param(10, [PERCENT_50], "Max", 15, id="percent"),
        pytest.param(3, [PERCENT_50], "Max", 5, id="a part of a pod counts as one"),
        pytest.param(1, [at_most("Percent", 1, 60)], "Max", 2, id="a small target still grows"),
        pytest.param(110, [at_most("Percent", 10, 60)], "Max", 122, id="binary floats: 121.00000000000001"),
        pytest.param(10, [PODS_4, PERCENT_50], "Max", 15, id="the larger change"),
        pytest.param(10, [PODS_4, PERCENT_50], "Min", 14, id="the smaller change"),
        pytest.param(10, [PODS_4], "Disabled", 10, id="disabled"),
        pytest.param(10, [at_most("Pods", 2**31 - 1, 60)], "Max", 10, id="past the int32: no change at all"),
        pytest.param(2**31 - 1, [at_most("Percent", 100, 60)], "Max", 2**31 - 1, id="percent past the int32"),
    ],
)  # fmt: skip
def test_the_limit_upwards(current, policies, select, allowed):
    assert limit(scale_up_rate, Memory(), current, *policies, select=select) == allowed


@pytest.mark.parametrize(
    ("current", "policies", "select", "allowed"),
    [
        pytest.param(10, [PODS_4], "Max", 6, id="pods"),
        pytest.param(3, [PODS_4], "Max", -1, id="more than there are"),
        pytest.param(10, [PERCENT_50], "Max", 5, id="percent"),
        pytest.param(3, [PERCENT_50], "Max", 1, id="a part of a pod may go"),
        pytest.param(10, [at_most("Percent", 90, 60)], "Max", 0, id="binary floats: 0.9999999999999998"),
        pytest.param(10, [PODS_4, PERCENT_50], "Max", 5, id="the larger change"),
        pytest.param(10, [PODS_4, PERCENT_50], "Min", 6, id="the smaller change"),
        pytest.param(10, [PODS_4], "Disabled", 10, id="disabled"),
        pytest.param(10, [at_most("Percent", 110, 60)], "Max", -1, id="more than all of it"),
    ],
)  # fmt: skip
def test_the_limit_downwards(current, policies, select, allowed):
    assert limit(scale_down_rate, Memory(), current, *policies, select=select) == allowed


@pytest.mark.parametrize(
    ("ups", "downs", "up_to", "down_to"),
    [
        pytest.param([(3, 10)], [], 11, 3, id="3 were added: the period began with 7"),
        pytest.param([], [(3, 10)], 17, 9, id="3 were taken away: it began with 13"),
        pytest.param([(3, 60)], [], 14, 6, id="exactly a period ago no longer counts"),
        pytest.param([(3, 59)], [(1, 59)], 12, 4, id="both logs count for both directions"),
        pytest.param([(9, 10)], [], 10, -3, id="the limit never reverses the direction"),
    ],
)
def test_changes_of_the_period_are_counted(ups, downs, up_to, down_to):
    memory = Memory(scale_up_events=events(*ups), scale_down_events=events(*downs))
    assert limit(scale_up_rate, memory, 10, PODS_4) == up_to
    assert limit(scale_down_rate, memory, 10, PODS_4) == down_to


def test_an_outdated_event_counts_while_its_period_lasts():
    [one] = events((3, 10))
    outdated = type(one)(replica_change=3, happened_at_unix_seconds=NOW - 10, outdated=True)
    assert limit(scale_up_rate, Memory(scale_up_events=(outdated,)), 10, PODS_4) == 11


def test_every_policy_is_reported_with_its_numbers():
    rules = Rules(window_seconds=0, select_policy="Max", policies=(PODS_4, PERCENT_50))
    memory = Memory(scale_up_events=events((2, 10)))
    rate = scale_up_rate(memory, current=10, rules=rules, moment=Moment(NOW))
    assert [(each.period_start_replicas, each.limit) for each in rate.policies] == [
        (8, 12),
        (8, 12),
    ]
