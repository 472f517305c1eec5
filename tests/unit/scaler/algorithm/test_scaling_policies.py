"""How far the policies let one reconcile go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.go_numbers import int32
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Rules
from scaler.algorithm.scaling_policies import scale_down_rate, scale_up_rate
from scaler.api.history import ScaleEvent
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


class CountedEvents(tuple):
    """Events that count how many of them were read."""

    __slots__ = ()
    reads = 0

    def __iter__(self):
        for each in super().__iter__():
            type(self).reads += 1
            yield each


def test_each_event_is_read_once_for_all_policies():
    """100 policies with 1,000 events in each direction held the scaler up for 50 ms."""
    policies = [at_most("Pods", 4, 1 + number) for number in range(100)]
    CountedEvents.reads = 0
    memory = Memory(
        scale_up_events=CountedEvents(events(*((1, ago) for ago in range(1000)))),
        scale_down_events=CountedEvents(events(*((1, ago) for ago in range(1000)))),
    )
    assert limit(scale_up_rate, memory, 10, *policies) == 14
    assert CountedEvents.reads == 2000


some_events = st.lists(
    st.builds(
        ScaleEvent,
        replica_change=st.integers(0, 2**31 - 1),
        happened_at_unix_seconds=st.sampled_from([NOW - ago for ago in (0, 0.1, 7, 59.9, 60, 61)])
        | st.floats(NOW - 70, NOW),
        outdated=st.booleans(),
        may_be_older=st.booleans(),
    ),
    max_size=12,
).map(tuple)


@given(ups=some_events, downs=some_events, period=st.sampled_from([1, 7, 60]), up=st.booleans())
def test_a_policy_counts_the_events_whose_period_lasts(ups, downs, period, up):
    """As if each event were compared with the time, in whatever order they are kept."""
    moment, each_compared = Moment(NOW), Moment(NOW)

    def changed(log, uses_up):
        total = sum(
            each.replica_change
            for each in log
            if (uses_up or not each.may_be_older)
            and not each_compared.reached(each.happened_at_unix_seconds + period)
        )
        return int32(total)

    start = int32(10 - changed(ups, up) + changed(downs, not up))
    rules = Rules(window_seconds=0, select_policy="Max", policies=(at_most("Pods", 1, period),))
    rate = (scale_up_rate if up else scale_down_rate)(
        Memory(scale_up_events=ups, scale_down_events=downs),
        current=10,
        rules=rules,
        moment=moment,
    )
    assert rate.policies[0].period_start_replicas == start
    assert moment.holds_until_unix_seconds == each_compared.holds_until_unix_seconds
