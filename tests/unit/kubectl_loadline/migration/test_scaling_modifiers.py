"""`advanced.scalingModifiers` of a ScaledObject becomes a metric of type Formula."""

import pytest

from kubectl_loadline.migration import Unconvertible
from testbed.programs import CRD
from tests.crd_schema import schema_in, violations
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    CPU,
    converted,
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
def test_a_formula_that_cannot_be_written_here_is_reported_and_the_triggers_scale(formula, problem):
    of = {"advanced": advanced(formula)}
    assert remarked(trigger("a"), **of) == [FIELD]
    [remark] = converted(trigger("a"), **of).remarks
    assert problem in remark.message
    [metric] = spec_of(trigger("a"), **of)["metrics"]
    assert "use" not in metric


def test_a_trigger_that_is_not_converted_cannot_be_part_of_the_formula():
    kafka = {"type": "kafka", "name": "lag", "metadata": {}}
    found = remarked(trigger("a"), kafka, advanced=advanced("a + lag"))
    assert found == ["spec.triggers[1]", FIELD]


@pytest.mark.parametrize(
    ("modifiers", "message"),
    [
        ({"target": ""}, f"{FIELD}.target: '' is not a quantity above 0"),
        ({"metricType": "Utilization"}, f"{FIELD}.metricType: 'Utilization' is neither"),
    ],
)
def test_what_keda_refuses_is_refused(modifiers, message):
    with pytest.raises(Unconvertible, match=message):
        converted(trigger("a"), advanced=advanced("a", **modifiers))
