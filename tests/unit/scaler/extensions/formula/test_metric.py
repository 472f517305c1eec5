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
from scaler.api.autoscaler import FormulaMetricSource, MetricSpec
from scaler.api.extension_spec import MetricFallback
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.printing import printed_targets
from scaler.extensions import EXTENSIONS
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
