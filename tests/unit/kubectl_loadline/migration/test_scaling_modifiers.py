"""`advanced.scalingModifiers` of a ScaledObject becomes a metric of type Formula."""

import pytest

from kubectl_loadline.migration import Unconvertible
from testbed.programs import CRD
from tests.crd_schema import schema_in, violations
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    CPU,
    converted,
    cron,
    prometheus,
    remarked,
    spec_of,
)

FIELD = "spec.advanced.scalingModifiers"


def trigger(name, **metadata):
    return {**prometheus(**metadata), "name": name}


def advanced(formula, **modifiers):
    return {"scalingModifiers": {"formula": formula, "target": "5", **modifiers}}


def formula_of(found):
    return next(each for each in found["metrics"] if each["type"] == "Formula")


def test_the_triggers_become_inputs_of_the_formula():
    found = spec_of(
        trigger("queue", activationThreshold="3"),
        trigger("errors"),
        CPU,
        advanced=advanced("queue / 30 + errors", activationTarget="2"),
        fallback={"failureThreshold": 2, "replicas": 6},
    )
    queue, errors, cpu, formula = found["metrics"]
    assert (queue["use"], errors["use"]) == ("Input", "Input")
    assert not {"activationValue", "fallback"} & (queue.keys() | errors.keys())
    assert cpu["activationValue"] == "1P", "as in KEDA, cpu scales beside the formula"
    assert formula == {
        "type": "Formula",
        "name": "formula",
        "formula": {
            "expression": "queue / 30 + errors",
            "target": {"type": "AverageValue", "averageValue": "5"},
        },
        "activationValue": "2",
        "fallback": {"type": "Replicas", "replicas": 6, "failureDurationSeconds": 30},
    }
    assert (found["minReplicas"], found["scaleToZero"]["cooldownSeconds"]) == (0, 300)
    assert not violations(found, schema_in(CRD)["properties"]["spec"])


def test_a_metric_is_named_as_it_is_converted():
    found = spec_of(
        trigger("Queue_depth"), trigger("b"), advanced=advanced("max(Queue_depth,\n  b) * 2e1")
    )
    assert formula_of(found)["formula"]["expression"] == "max('queue-depth', b) * 2e1"


def test_a_trigger_with_the_name_of_the_formula_keeps_it():
    found = spec_of(trigger("formula"), advanced=advanced("formula * 2"))
    assert [each["name"] for each in found["metrics"]] == ["formula", "formula-2"]


def test_a_target_of_type_value_is_kept_and_above_zero_there_is_no_activation_value():
    found = spec_of(
        trigger("a"), minReplicaCount=2, advanced=advanced("a", metricType="Value", activationTarget="2")
    )  # fmt: skip
    formula = formula_of(found)
    assert formula["formula"]["target"] == {"type": "Value", "value": "5"}
    assert "activationValue" not in formula


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("a > 5 ? a : 0", "position 7: unexpected '?'"),
        ("a % 2", "remainders are not supported"),
        ("sum([a, a])", "position"),
        ("a + missing", "no trigger of type prometheus has the name missing"),
        ("", "position 1"),
    ],
)
def test_without_a_formula_that_cannot_be_written_here_nothing_scales(formula, problem):
    """KEDA ignores the thresholds of the triggers beside a formula, so that they may be anything."""
    found = converted(trigger("a", threshold="1"), advanced=advanced(formula))
    [remark] = found.remarks
    assert remark.field == FIELD
    assert problem in remark.message
    assert not found.is_complete
    assert found.autoscaler["spec"]["mode"] == "DryRun"
    [metric] = found.autoscaler["spec"]["metrics"]
    assert "use" not in metric


@pytest.mark.parametrize(
    ("formula", "converted_formula"),
    [
        ("max(a ?? 0, b)", "max(a, b)"),
        ("a ?? b / 30", "a / 30"),
        ("(a + b) ?? max(a, (b)) + 1", "(a + b) + 1"),
        ("a ?? b ?? 1e3 * 2", "a * 2"),
        ("a ??(b)", "a"),
    ],
)
def test_what_replaces_a_failed_trigger_is_omitted_as_in_keda_the_whole_formula_fails(
    formula, converted_formula
):
    of = {"advanced": advanced(formula), "fallback": {"failureThreshold": 3, "replicas": 5}}
    found = formula_of(spec_of(trigger("a"), trigger("b"), **of))
    assert found["formula"]["expression"] == converted_formula
    assert found["fallback"]["replicas"] == 5
    assert remarked(trigger("a"), trigger("b"), **of) == []


def test_what_replaces_a_failed_trigger_in_keda_stays_and_is_reported():
    of = {
        "advanced": advanced("a ?? 0"),
        "fallback": {"failureThreshold": 3, "replicas": 5, "behavior": "scalingModifiers"},
    }
    assert formula_of(spec_of(trigger("a"), **of))["formula"]["expression"] == "a ?? 0"
    assert remarked(trigger("a"), **of) == [f"{FIELD}.formula", "spec.fallback.behavior"]


@pytest.mark.parametrize(
    ("formula", "reported"),
    [
        ("a / b", [f"{FIELD}.formula"]),
        ("1 + max(a / (b - 1), 2)", [f"{FIELD}.formula"]),
        ("a / 30 / 2.5", []),
        ("a / max(b, 0.001)", []),
        ("a / clamp(b, 1, 5)", []),
    ],
)
def test_a_division_that_may_be_by_zero_is_reported(formula, reported):
    """KEDA has no error for it: the target is not active."""
    assert remarked(trigger("a"), trigger("b"), advanced=advanced(formula)) == reported


@pytest.mark.parametrize(
    ("formula", "is_reported"),
    [
        ("a - b", True),
        ("-a", True),
        ("max(a - b, -1)", True),
        ("clamp(a, -5, 5)", True),
        ("avg(a, b - 1)", True),
        ("max(a - b, 0)", False),
        ("clamp(a - b, 0, 5)", False),
        ("(a - b) > 5", False),
        ("a * 2 + b", False),
    ],
)
def test_a_formula_whose_result_may_be_negative_is_reported(formula, is_reported):
    """The value of a formula has no lower limit in KEDA (`calculateScalingModifiersFormula`), unlike that of a trigger."""
    found = converted(trigger("a"), trigger("b"), advanced=advanced(formula)).remarks
    assert [each.field for each in found] == ([f"{FIELD}.formula"] if is_reported else [])
    assert all("scales to maxReplicaCount" in each.message for each in found)
    value = advanced(formula, metricType="Value")
    assert remarked(trigger("a"), trigger("b"), advanced=value) == []


def test_beside_a_formula_only_resource_metrics_scale():
    container = {**CPU, "metadata": {"value": "60", "containerName": "app"}}
    triggers = [trigger("a"), CPU, container, cron("0 8 * * *", "0 9 * * *")]
    found = spec_of(*triggers, advanced=advanced("a"))
    assert [each["type"] for each in found["metrics"]] == ["External", "Resource", "Formula"]
    assert "schedules" not in found
    reported = remarked(*triggers, advanced=advanced("a"))
    assert reported == ["spec.triggers[2]", "spec.triggers[3]"]


def test_a_formula_that_is_active_at_zero_keeps_a_replica_as_in_keda():
    of = {"advanced": advanced("a", activationTarget="-1")}
    found = spec_of(trigger("a"), **of)
    assert found["minReplicas"] == 1
    assert "activationValue" not in formula_of(found)
    assert remarked(trigger("a"), **of) == ["spec.minReplicaCount"]


def test_a_negative_threshold_of_an_input_does_not_keep_a_replica():
    """Beside a formula, KEDA compares only its result."""
    of = {"advanced": advanced("a", activationTarget="2")}
    found = spec_of(trigger("a", activationThreshold="-1"), **of)
    assert found["minReplicas"] == 0
    assert remarked(trigger("a", activationThreshold="-1"), **of) == []


def test_a_trigger_that_is_not_converted_cannot_be_part_of_the_formula():
    kafka = {"type": "kafka", "name": "lag", "metadata": {}}
    found = remarked(trigger("a"), kafka, advanced=advanced("a + lag"))
    assert found == ["spec.triggers[1]", FIELD]


@pytest.mark.parametrize("given", ["+5", ".5", "5.", "05", "1e3"])
def test_a_number_of_scaling_modifiers_is_one_that_go_reads(given):
    of = {"advanced": advanced("a", target=given, activationTarget=given)}
    assert not violations(spec_of(trigger("a"), **of), schema_in(CRD)["properties"]["spec"])


@pytest.mark.parametrize(("threshold", "used"), [("0", "1"), ("-3", "1"), ("30", "30")])
def test_a_threshold_beside_a_formula_is_any_number_because_it_is_not_used(threshold, used):
    of = {"advanced": advanced("a")}
    found = spec_of(trigger("a", threshold=threshold), **of)
    assert found["metrics"][0]["external"]["target"]["averageValue"] == used
    assert not violations(found, schema_in(CRD)["properties"]["spec"])
    assert remarked(trigger("a", threshold=threshold), **of) == []


@pytest.mark.parametrize(
    ("threshold", "problem"),
    [
        ("", "it is missing, and KEDA requires it"),
        ("abc", "'abc' is not a number, such as 5 or 0.5"),
        ("500m", "'500m' is not a number, such as 5 or 0.5"),
    ],
)
@pytest.mark.parametrize("formula", ["a", "a ? 1 : 2"])
def test_a_threshold_that_cannot_be_read_is_refused_beside_a_formula_too(
    threshold, problem, formula
):
    """Any number will do, so none above 0 is wanted."""
    with pytest.raises(Unconvertible, match=f"threshold: {problem}"):
        converted(trigger("a", threshold=threshold), advanced=advanced(formula))


@pytest.mark.parametrize(
    ("modifiers", "message"),
    [
        ({"target": ""}, f"{FIELD}.target: it is missing, and KEDA requires it"),
        ({"target": "500m"}, f"{FIELD}.target: '500m' is not a number above 0"),
        ({"target": "0"}, f"{FIELD}.target: '0' is not a number above 0"),
        ({"activationTarget": "x"}, f"{FIELD}.activationTarget: 'x' is not a number"),
        ({"activationTarget": "Inf"}, f"{FIELD}.activationTarget: 'Inf' is not a number"),
        ({"metricType": "Utilization"}, f"{FIELD}.metricType: 'Utilization' is neither"),
    ],
)
def test_what_keda_refuses_is_refused(modifiers, message):
    with pytest.raises(Unconvertible, match=message):
        converted(trigger("a"), advanced=advanced("a", **modifiers))
