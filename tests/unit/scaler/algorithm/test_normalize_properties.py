"""For any history and rules: bounds, directions, windows and policies are respected."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.derivation import Bound, Stabilization
from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.normalize import bounded, stabilized
from scaler.algorithm.recommendations import with_scale_event
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Behavior
from tests.unit.scaler.objects import NOW, at_most, few_examples, recommended, rules, spec

counts = st.integers(1, 60)
histories = st.lists(st.tuples(counts, st.integers(0, 900)), max_size=8).map(
    lambda made: recommended(*made)
)
policies = st.builds(
    at_most,
    st.sampled_from(["Pods", "Percent"]),
    st.integers(1, 150),
    st.sampled_from([15, 60, 300]),
)
some_rules = st.builds(
    lambda chosen, window, select: rules(*chosen, window_seconds=window, select=select),
    st.lists(policies, min_size=1, max_size=3),
    st.sampled_from([0, 60, 300]),
    st.sampled_from(["Max", "Min", "Disabled"]),
)
behaviors = st.builds(Behavior, scale_up=some_rules, scale_down=some_rules)


class Normalized(NamedTuple):
    stabilization: Stabilization
    bound: Bound
    memory: Memory


def normalized(memory, of, *, current, wanted, now=NOW):
    policy, moment = policy_of(of, Settings()), Moment(now)
    found, remembered = stabilized(memory, policy, moment, current=current, recommended=wanted)
    limit = bounded(memory, policy, moment, current=current, desired=found.stabilized)
    return Normalized(found, limit, remembered)


@few_examples
@given(
    memory=histories,
    behavior=st.none() | behaviors,
    low=st.integers(1, 10),
    extra=st.integers(0, 50),
    data=st.data(),
    wanted=st.integers(0, 200),
)
def test_the_count_stays_between_minimum_and_maximum(memory, behavior, low, extra, data, wanted):
    of = spec(min_replicas=low, max_replicas=low + extra, behavior=behavior)
    current = data.draw(st.integers(low, low + extra))
    found = normalized(memory, of, current=current, wanted=wanted)
    assert low <= found.bound.after <= low + extra


@few_examples
@given(memory=histories, behavior=behaviors, current=counts, wanted=counts)
def test_with_behavior_the_count_never_passes_between_here_and_there(
    memory, behavior, current, wanted
):
    """Stabilization, policies and bounds may hold back; they never overshoot or turn around."""
    of = spec(min_replicas=1, max_replicas=60, behavior=behavior)
    after = normalized(memory, of, current=current, wanted=wanted).bound.after
    assert min(current, wanted) <= after <= max(current, wanted)


@few_examples
@given(memory=histories, current=counts, wanted=counts)
def test_without_behavior_the_count_is_never_below_what_was_wanted(memory, current, wanted):
    """It may be above: old high recommendations hold, even above the current count."""
    stabilized = normalized(memory, spec(), current=current, wanted=wanted).stabilization
    recent = [each.replicas for each in memory.recommendations or ()]
    assert wanted <= stabilized.stabilized <= max([wanted, *recent])


@few_examples
@given(memory=histories, behavior=st.none() | behaviors, current=counts, wanted=counts)
def test_a_greater_recommendation_never_leads_to_a_smaller_count(memory, behavior, current, wanted):
    of = spec(min_replicas=1, max_replicas=60, behavior=behavior)
    less = normalized(memory, of, current=current, wanted=wanted).bound.after
    more = normalized(memory, of, current=current, wanted=wanted + 1).bound.after
    assert less <= more


@few_examples
@given(
    window=st.sampled_from([30, 60, 300]),
    syncs=st.lists(st.tuples(st.sampled_from([1, 15, 60]), counts), min_size=1, max_size=20),
)
def test_the_count_never_shrinks_below_the_highest_recommendation_of_the_window(window, syncs):
    """Played over random histories, with the memory handed on from reconcile to reconcile."""
    behavior = Behavior(scale_up=rules(), scale_down=rules(window_seconds=window))
    of = spec(min_replicas=1, max_replicas=1_000, behavior=behavior)
    memory, current, now = Memory(), 10, NOW
    seen = []
    for elapsed, wanted in syncs:
        now += elapsed
        seen.append((now, wanted))
        found = normalized(memory, of, current=current, wanted=wanted, now=now)
        after = found.bound.after
        highest = max(count for at, count in seen if at > now - window)
        assert after >= min(current, highest)
        memory, current = found.memory, after


@few_examples
@given(
    allowed=st.integers(1, 5),
    period=st.sampled_from([15, 60]),
    syncs=st.lists(st.tuples(st.sampled_from([1, 5, 15, 60]), counts), min_size=1, max_size=20),
)
def test_no_period_sees_more_change_than_its_policy_allows(allowed, period, syncs):
    """Upwards with one Pods policy: what any period adds, less what it took away, stays within it."""
    only = rules(at_most("Pods", allowed, period))
    behavior = Behavior(scale_up=only, scale_down=only)
    of = spec(min_replicas=1, max_replicas=1_000, behavior=behavior)
    memory, current, now = Memory(), 10, NOW
    counts_at = [(now, current)]
    for elapsed, wanted in syncs:
        now += elapsed
        found = normalized(memory, of, current=current, wanted=wanted, now=now)
        after, memory = found.bound.after, found.memory
        start = next(count for at, count in reversed(counts_at) if at <= now - period or at == NOW)
        if after > current:
            assert after <= max(current, start + allowed)
        if after < current:
            assert after >= min(current, start - allowed)
        if after != current:
            filled = policy_of(of, Settings()).behavior
            memory = with_scale_event(
                memory,
                before=current,
                after=after,
                rules=filled.scale_up if after > current else filled.scale_down,
                now_unix_seconds=now,
            )
            current = after
            counts_at.append((now, current))
