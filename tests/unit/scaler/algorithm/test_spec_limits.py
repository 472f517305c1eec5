"""A spec that would take too long to evaluate is not evaluated, and its conditions say which field is too large."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.draft import Ask
from scaler.algorithm.memory import Memory
from scaler.algorithm.plan import plan
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.spec_limits import (
    CHARACTERS_MAX,
    LABELS_MAX,
    METRICS_MAX,
    POLICIES_MAX,
    _texts_of,
    excess_of_metrics,
    shortened,
)
from scaler.api.autoscaler import AutoscalerSpec, Behavior, CandidateSpec, MetricSpec
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    events,
    external,
    observed,
    rules,
    spec,
    step,
)
from wire.api.meta import LabelSelector, LabelSelectorRequirement

HPA = Settings(kind=HORIZONTAL_POD_AUTOSCALERS)
LOAD = Settings(kind=LOAD_AUTOSCALERS, extensions=EXTENSIONS)


def queues(count: int, selector: LabelSelector | None = None) -> tuple[MetricSpec, ...]:
    return tuple(
        external(average("1"), name=f"q{number}", selector=selector) for number in range(count)
    )


def one_of(count: int, length: int = 1) -> LabelSelector:
    """A selector with a key, an operator, and that many values."""
    values = [str(number).rjust(length, "0") for number in range(count)]
    requirement = LabelSelectorRequirement(key="shard", operator="In", values=values)
    return LabelSelector(match_expressions=[requirement])


def with_policies(count: int) -> AutoscalerSpec:
    policies = tuple(at_most("Pods", 4, 1 + number) for number in range(count))
    return spec(*queues(1), behavior=Behavior(scale_up=rules(*policies)))


def with_candidate(of: AutoscalerSpec, *metrics: MetricSpec) -> AutoscalerSpec:
    return msgspec.structs.replace(of, candidate=CandidateSpec(metrics=metrics))


TOO_LARGE = [
    pytest.param(spec(*queues(METRICS_MAX + 1)), HPA, "spec.metrics: ", id="metrics"),
    pytest.param(
        spec(*queues(1, one_of(LABELS_MAX - 1))), HPA, "spec.metrics: ", id="labels of one metric"
    ),
    pytest.param(
        spec(*queues(100, one_of(LABELS_MAX // 100 - 1))), LOAD, "spec.metrics: ", id="labels of all"
    ),
    pytest.param(
        spec(*queues(1, one_of(1, CHARACTERS_MAX))), HPA, "spec.metrics: ", id="characters"
    ),
    pytest.param(
        with_candidate(spec(*queues(1)), *queues(1, one_of(LABELS_MAX - 1))),
        LOAD,
        "spec.candidate: ",
        id="labels of a candidate",
    ),
    pytest.param(
        with_policies(POLICIES_MAX + 1), HPA, "spec.behavior.scaleUp.policies: ", id="policies"
    ),
]  # fmt: skip


@pytest.mark.deviation("spec-size")
@pytest.mark.parametrize(("of", "settings", "path"), TOO_LARGE)
def test_a_spec_that_takes_too_long_is_not_evaluated(of, settings, path):
    memory = Memory(recommendations=(step(9, 15),), scale_up_events=events((1, 20)))
    decision = plan(observed(of, replicas=3), memory, settings, NOW)
    assert not isinstance(decision, Ask), "no metric is requested"
    outcome = settle(decision, NotNeeded(), NOW)
    active = next(each for each in outcome.status.conditions if each.type == "ScalingActive")
    assert (active.status, active.reason) == ("False", "SpecTooLarge")
    assert active.message.startswith(path)
    assert [each.reason for each in outcome.events] == ["SpecTooLarge"]
    assert not decision.rescale
    assert outcome.memory.scale_up_events == memory.scale_up_events


@pytest.mark.parametrize(
    ("of", "settings"),
    [
        pytest.param(spec(*queues(METRICS_MAX)), HPA, id="metrics"),
        pytest.param(spec(*queues(1, one_of(LABELS_MAX - 2))), HPA, id="labels"),
        pytest.param(
            spec(*queues(1, one_of(1, CHARACTERS_MAX - len("shard") - len("In")))),
            HPA,
            id="characters",
        ),
        pytest.param(with_policies(POLICIES_MAX), HPA, id="policies"),
        pytest.param(
            with_candidate(spec(*queues(100, one_of(5))), *queues(20, one_of(5))),
            LOAD,
            id="as many metrics as a LoadAutoscaler may have",
        ),
    ],
)
def test_a_spec_within_the_limits_is_evaluated(of, settings):
    assert isinstance(plan(observed(of, replicas=3), Memory(), settings, NOW), Ask)


@pytest.mark.deviation("spec-size")
def test_the_bounds_of_a_spec_that_is_too_large_apply():
    of = spec(*queues(METRICS_MAX + 1), max_replicas=5)
    decision = plan(observed(of, replicas=9), Memory(), HPA, NOW)
    assert not isinstance(decision, Ask)
    assert decision.desired_replicas == 5


@pytest.mark.parametrize(("of", "settings", "path"), TOO_LARGE)
def test_what_is_kept_of_a_spec_that_is_too_large_leads_to_the_same_decision(of, settings, path):
    memory = Memory(recommendations=(step(9, 15),))
    whole, kept = (
        settle(plan(observed(each, replicas=3), memory, settings, NOW), NotNeeded(), NOW)
        for each in (of, shortened(of))
    )
    assert (kept.status.conditions, kept.events) == (whole.status.conditions, whole.events)


def test_of_too_many_metrics_one_more_than_the_limit_is_kept():
    kept = shortened(spec(*queues(METRICS_MAX + 5))).metrics or ()
    assert len(kept) == METRICS_MAX + 1


def test_of_too_many_policies_one_more_than_the_limit_is_kept():
    too_many = with_policies(POLICIES_MAX + 5).behavior
    kept = shortened(with_policies(POLICIES_MAX + 5)).behavior
    assert len(kept.scale_up.policies) == POLICIES_MAX + 1
    assert kept.scale_up.policies == too_many.scale_up.policies[: POLICIES_MAX + 1]


SELECTORS = st.none() | st.builds(
    lambda labels, *counts: LabelSelector(
        match_labels={f"k{number}": "v" for number in range(labels)},
        match_expressions=[one_of(count).match_expressions[0] for count in counts],
    ),
    st.integers(0, 600),
    st.integers(0, 600),
    st.integers(0, 600),
)


@given(st.lists(st.tuples(st.sampled_from([1, 200, 400]), SELECTORS), max_size=4))
def test_a_shortened_spec_has_the_same_excess_and_one_without_excess_is_the_same(parts):
    of = spec(*(metric for count, selector in parts for metric in queues(count, selector)))
    whole = excess_of_metrics([("spec.metrics", of.metrics or ())])
    kept = shortened(of).metrics or ()
    assert excess_of_metrics([("spec.metrics", kept)]) == whole
    assert kept == of.metrics or whole is not None
    texts = [text for each in kept for text in _texts_of(each.external.metric.selector)]
    assert len(texts) <= 2 * (LABELS_MAX + 2)
