"""Whole reconciles over random readings: bounds, direction, the first pass in the status."""

from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settle import settle
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    few_examples,
    observed,
    recommended,
    spec,
)

GONE = MetricFailed("no metrics returned from external metrics API")
lengths = st.integers(0, 5_000)
readings = st.lists(lengths | st.none(), min_size=1, max_size=4)
bounds = st.tuples(st.integers(1, 10), st.integers(0, 30))


def decision_on(wanted, *, low, high, replicas, memory=None):
    metrics = [external(average("10"), name=f"m{index}") for index in range(len(wanted))]
    seen = observed(spec(*metrics, min_replicas=low, max_replicas=high), replicas=replicas)
    said = [GONE if each is None else ExternalValues((each * 1000,)) for each in wanted]
    return decided(seen, said, memory=memory or recommended((1, 900)))


@few_examples
@given(wanted=readings, bound=bounds, replicas=st.integers(1, 60))
def test_a_desired_count_lies_between_minimum_and_maximum(wanted, bound, replicas):
    low, high = bound[0], sum(bound)
    decision = decision_on(wanted, low=low, high=high, replicas=replicas)
    if decision.desired_replicas is not None:
        assert low <= decision.desired_replicas <= high


@few_examples
@given(wanted=readings, replicas=st.integers(1, 40))
def test_the_count_never_moves_away_from_the_winning_proposal(wanted, replicas):
    """Without a past: towards the winner's proposal or not at all."""
    decision = decision_on(wanted, low=1, high=1_000, replicas=replicas)
    derivation = decision.derivation
    if decision.desired_replicas is None or derivation.winner is None:
        return
    proposal = max(derivation.metrics[derivation.winner].proposal or 0, 1)
    assert min(proposal, replicas) <= decision.desired_replicas <= max(proposal, replicas)


@few_examples
@given(wanted=st.lists(lengths, min_size=1, max_size=3), replicas=st.integers(1, 40), more=lengths)
def test_more_load_never_leads_to_fewer_replicas(wanted, replicas, more):
    """External averages are monotone: the tolerance keeps the count that lies between its edges."""
    less = decision_on(wanted, low=1, high=1_000, replicas=replicas)
    greater = decision_on([each + more for each in wanted], low=1, high=1_000, replicas=replicas)
    assert less.desired_replicas <= greater.desired_replicas


@few_examples
@given(wanted=readings, replicas=st.integers(1, 40))
def test_while_a_metric_is_missing_the_target_does_not_shrink(wanted, replicas):
    decision = decision_on([*wanted, None], low=1, high=1_000, replicas=replicas)
    assert decision.desired_replicas is None or decision.desired_replicas >= replicas


@few_examples
@given(syncs=st.lists(st.tuples(st.sampled_from([1, 15, 60]), readings), min_size=1, max_size=12))
def test_the_status_always_matches_what_was_written(syncs):
    """Over random histories: the memory and the replicas go from reconcile to reconcile as in the shell."""
    memory, replicas, now = Memory(), 5, NOW
    for elapsed, wanted in syncs:
        now += elapsed
        metrics = [external(average("10"), name=f"m{index}") for index in range(len(wanted))]
        seen = observed(spec(*metrics, max_replicas=50), replicas=replicas)
        said = [GONE if each is None else ExternalValues((each * 1000,)) for each in wanted]
        decision = decided(seen, said, memory=memory, now=now)
        outcome = settle(decision, Rescaled(), now)
        assert outcome.status.current_replicas == replicas
        assert len(outcome.status.current_metrics) == len(wanted)
        if decision.rescale:
            assert [each.reason for each in outcome.events].count("SuccessfulRescale") == 1
            replicas = outcome.status.desired_replicas
        memory = outcome.memory
