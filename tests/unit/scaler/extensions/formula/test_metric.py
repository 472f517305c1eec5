"""Formula metrics in a decision: their inputs, their proposals, and what is reported when they fail."""

import msgspec
import pytest

from scaler.algorithm.decision import Decision, NotNeeded, Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import (
    ComputedFrom,
    ExternalValues,
    MetricFailed,
    ObjectValue,
    Reading,
)
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import CandidateSpec, FormulaMetricSource, MetricSpec
from scaler.api.extension_spec import MetricFallback
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.targets_column import printed_targets
from scaler.extensions import EXTENSIONS
from scaler.extensions.formula.metric import CHARACTERS_MAX
from tests.unit.scaler.objects import (
    NOW,
    average,
    decided,
    external,
    observed,
    of_object,
    of_pods,
    resource,
    samples,
    spec,
    utilization,
    value,
)

LOAD = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)


def named(metric: MetricSpec, name: str, use: str = "Input") -> MetricSpec:
    return msgspec.structs.replace(metric, name=name, use=use)


def formula(expression: str, *, target=None, name: str = "load") -> MetricSpec:
    source = FormulaMetricSource(expression=expression, target=target or average("1"))
    return MetricSpec(type="Formula", name=name, formula=source)


QUEUE, RPS = named(external(average("1")), "queue"), named(of_object(value("1")), "rps")
DOWN = MetricFailed("no data")


def decision(*metrics: MetricSpec, readings: list[Reading], replicas: int = 2) -> Decision:
    readings = [*readings, *(ComputedFrom() for each in metrics if each.formula)]
    return decided(
        observed(spec(*metrics), replicas=replicas), readings, memory=Memory(recommendations=()), settings=LOAD
    )  # fmt: skip


def conditions(of: Decision) -> dict[str, tuple[str, str, str]]:
    outcome = settle(of, Rescaled() if of.rescale else NotNeeded(), NOW)
    return {
        each.type: (each.status, each.reason, each.message)
        for each in outcome.status.conditions or ()
    }


def test_with_an_average_value_of_1_the_formula_is_the_number_of_replicas():
    found = decision(
        QUEUE, RPS, formula("max(queue / 30, rps / 200)"),
        readings=[ExternalValues((60_000, 30_000)), ObjectValue(500_000)],
    )  # fmt: skip
    assert found.desired_replicas == 3
    assert found.rescale_reason == "formula load above target"
    assert conditions(found)["InvalidFormula"] == (
        "False", "ValidExpressions", "every formula is valid",
    )  # fmt: skip


def test_with_a_target_of_type_value_the_replicas_change_in_proportion():
    found = decision(
        QUEUE, formula("queue / 30", target=value("1")), readings=[ExternalValues((90_000,))]
    )
    assert found.desired_replicas == 4, "2 replicas at three times the target, limited to double"
    assert found.derivation.metrics[1].proposal == 6


def test_a_metric_of_pods_counts_with_its_average_per_pod_in_si_units():
    found = decision(
        named(of_pods(average("1")), "hits"), named(resource(utilization(50)), "cpu"),
        formula("hits + cpu * 10"),
        readings=[samples({"web-0": 2000, "web-1": 4000}), samples({"web-0": 100, "web-1": 300})],
    )  # fmt: skip
    assert found.derivation.metrics[2].computed_from == "hits 3, cpu 0.2"
    assert found.derivation.metrics[2].value_milli == 5000


@pytest.mark.parametrize("use", ["Input", "Scale"])
def test_a_negative_sum_is_a_negative_input_whatever_its_target_is(use):
    """A rate of change, for example; for a target of its own a negative sum is the maximum, as upstream."""
    found = decision(
        QUEUE, named(external(average("1"), name="trend"), "trend", use=use),
        formula("max(queue + 60 * trend, 0) / 30"),
        readings=[ExternalValues((300_000,)), ExternalValues((-3_000, 1_000))],
    )  # fmt: skip
    assert found.derivation.metrics[2].computed_from == "queue 300, trend -2"
    assert found.derivation.metrics[2].proposal == 6


@pytest.mark.parametrize(
    ("metric", "reading"),
    [
        (external(value("1")), ExternalValues((90_000,))),
        (of_object(value("1")), ObjectValue(90_000)),
    ],
    ids=["external", "object"],
)
def test_an_input_with_a_target_of_type_value_needs_no_pods(metric, reading):
    """All pods of the target may be gone, and its target is not used."""
    found = decided(
        observed(spec(named(metric, "queue"), formula("queue / 30")), replicas=2),
        (reading, ComputedFrom()),
        memory=Memory(recommendations=()),
        settings=LOAD,
        target_pods=(),
    )
    assert found.desired_replicas == 3


def test_the_status_of_an_input_has_its_negative_sum_per_replica():
    found = decision(named(external(average("1")), "queue"), readings=[ExternalValues((-3_000,))])
    assert found.derivation.metrics[0].average_milli == -1_500


def test_a_failed_input_fails_the_formula_and_nothing_is_scaled():
    found = decision(QUEUE, formula("queue / 30"), readings=[DOWN])
    assert found.desired_replicas is None
    assert conditions(found)["ScalingActive"][1:] == (
        "FailedComputeFormula",
        "the HPA was unable to compute the replica count: the formula has no value: the metric queue failed: unable to get external metric shop/queue/nil: no data",
    )


def test_a_failed_input_with_a_replacement_does_not_fail_the_formula():
    found = decision(QUEUE, formula("queue ?? 150 / 30"), readings=[DOWN])
    assert found.derivation.metrics[1].proposal == 5
    assert found.derivation.metrics[1].computed_from == "queue failed"


def test_a_formula_that_fails_has_its_fallback():
    metric = msgspec.structs.replace(
        formula("queue / 30"),
        fallback=MetricFallback(type="Replicas", replicas=7, failure_duration_seconds=0),
    )
    assert decision(QUEUE, metric, readings=[DOWN], replicas=5).derivation.metrics[1].proposal == 7


def test_a_metric_that_scales_too_can_be_an_input():
    found = decision(
        named(external(average("30")), "queue", "Scale"), formula("queue / 10"),
        readings=[ExternalValues((90_000,))],
    )  # fmt: skip
    assert [each.proposal for each in found.derivation.metrics] == [3, 9]


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("queue +", "position 8: expected a number, a metric or a function, not the end"),
        ("rps / 2", "position 1: no metric is named rps, or it is a formula itself; the named metrics are: queue, queue-depth"),
        ("load / 2", "position 1: no metric is named load, or it is a formula itself"),
        ("2 * depth", "position 5: no metric is named depth; a name with '-' needs quotes: 'queue-depth'"),
    ],
)  # fmt: skip
def test_an_invalid_formula_is_a_condition_with_the_path_and_the_position(expression, problem):
    found = decision(
        QUEUE, named(external(average("1")), "queue-depth"), formula(expression),
        readings=[ExternalValues((1000,)), ExternalValues((1000,))],
    )  # fmt: skip
    status, reason, message = conditions(found)["InvalidFormula"]
    assert (status, reason) == ("True", "InvalidExpression")
    assert message.startswith(f"spec.metrics[2].formula.expression: {problem}")
    assert found.desired_replicas is None


def test_an_invalid_formula_does_not_keep_other_metrics_from_scaling_up():
    found = decision(
        named(external(average("10")), "queue", "Scale"), formula("queue +"),
        readings=[ExternalValues((40_000,))],
    )  # fmt: skip
    assert found.desired_replicas == 4
    assert conditions(found)["InvalidFormula"][0] == "True"


def test_why_shows_the_inputs_and_the_status_the_value():
    found = decision(QUEUE, formula("queue / 30"), readings=[ExternalValues((90_000,))], replicas=3)
    assert (
        "formula load: 3 for a target of average value 1, ratio 1.00. Computed from queue 90."
        in explain(found.derivation, EXTENSIONS)
    )
    status = settle(found, NotNeeded(), NOW).status
    metrics = (QUEUE, formula("queue / 30"))
    assert printed_targets(metrics, status.current_metrics or ()) == "30/1 (avg), 1/1 (avg)"


@pytest.mark.parametrize(
    ("expression", "milli"),
    [("0.1 + 0.2", 300), ("1 / 3", 334), ("-1 / 3", -333), ("2", 2000), ("0.0001", 1)],
)
def test_a_value_is_rounded_up_to_thousandths_as_quantities_are(expression, milli):
    found = decision(QUEUE, formula(expression), readings=[ExternalValues((0,))])
    assert found.derivation.metrics[1].value_milli == milli


def test_a_value_that_is_too_large_for_a_quantity_fails():
    found = decision(QUEUE, formula("1e16"), readings=[ExternalValues((0,))])
    assert found.derivation.metrics[1].failure == (
        "the formula has no value: 1e+16 is too large for a quantity"
    )


def test_without_formulas_there_is_no_condition_for_them():
    found = decision(external(average("10")), readings=[ExternalValues((20_000,))])
    assert "InvalidFormula" not in conditions(found)


LONG = [formula(f"max(queue, {'0' * 200}, {number})", name=f"f{number}") for number in range(100)]


def test_the_formulas_of_an_autoscaler_are_computed_up_to_a_number_of_characters():
    """98 formulas of 1,024 characters held the scaler up for 0.2 s."""
    metrics = (QUEUE, *LONG[10:])
    found = decision(*metrics, readings=[ExternalValues((60_000,))], replicas=100)
    lengths = [
        len(metric.formula.expression)
        for metric, each in zip(metrics, found.derivation.metrics, strict=True)
        if metric.formula and "characters together" not in each.failure
    ]
    assert CHARACTERS_MAX - len(LONG[10].formula.expression) < sum(lengths) <= CHARACTERS_MAX
    assert not found.rescale, "what they would propose is unknown"
    message = (
        f"spec.metrics[{1 + len(lengths)}].formula.expression: with this one the formulas have more than 2048"
        " characters together, so this and the later ones are not computed: shorten them"
    )
    assert conditions(found)["InvalidFormula"] == ("True", "InvalidExpression", message)


def test_the_formulas_of_a_candidate_have_a_limit_of_their_own():
    whole = LONG[10 : 10 + CHARACTERS_MAX // len(LONG[10].formula.expression)]
    of = msgspec.structs.replace(
        spec(QUEUE, *whole), candidate=CandidateSpec(metrics=(QUEUE, *whole))
    )
    readings = [ExternalValues((60_000,)), *(ComputedFrom() for _ in whole)]
    found = decided(observed(of, replicas=10), readings, memory=Memory(), settings=LOAD)
    assert found.derivation.steps["candidate"].desired is not None


def test_the_condition_names_some_of_the_mistakes_and_counts_the_others():
    metrics = (
        *(named(external(average("1")), f"m{number}") for number in range(20)),
        *(formula("absent", name=f"f{number}") for number in range(7)),
    )
    [_, _, message] = conditions(decision(*metrics, readings=[DOWN] * 20))["InvalidFormula"]
    assert message.count("spec.metrics[") == 5
    assert message.endswith("m10, m11, m12, m13, m14, m15, m16, m17 and 10 more; and 2 more")
