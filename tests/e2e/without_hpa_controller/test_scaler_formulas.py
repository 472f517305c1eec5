"""Formulas over external metrics on a real control plane."""

from typing import Any

from testbed.waiting import until
from tests.e2e.scaler_objects import Json, Workspace, autoscaler, plain_queue, workload


def measured(name: str) -> Json:
    """An External metric of this name that is only an input."""
    target = {"type": "AverageValue", "averageValue": "1"}
    return {
        "type": "External", "name": name, "use": "Input",
        "external": {"metric": {"name": name}, "target": target},
    }  # fmt: skip


def formula(expression: str) -> Json:
    target = {"type": "AverageValue", "averageValue": "1"}
    return {
        "type": "Formula",
        "name": "load",
        "formula": {"expression": expression, "target": target},
    }


def on(namespace: str, expression: str) -> dict[str, Any]:
    metrics = [measured("queue"), measured("rps"), formula(expression)]
    return autoscaler(namespace, plain_queue("10"), metrics=metrics)


def test_a_formula_over_two_metrics_scales_and_a_failed_one_is_replaced(
    cluster, metrics_api, namespace, start_scaler
):
    metrics_api.values[f"{namespace}/queue"] = "90"
    metrics_api.values[f"{namespace}/rps"] = "1"
    cluster.apply(
        workload("Deployment", namespace, 1),
        on(namespace, "max(queue / 30, rps ?? 1000 / 200)"),
    )
    start_scaler("--downscale-stabilization=0s")
    workspace = Workspace(cluster, namespace)
    workspace.reaches(3)
    workspace.has_event(
        "SuccessfulRescale", "New size: 3; reason: formula load above target".__eq__
    )
    assert workspace.has_condition("InvalidFormula", "False", "ValidExpressions")
    del metrics_api.values[f"{namespace}/rps"]
    workspace.reaches(5)
    assert workspace.conditions()["ScalingActive"][:2] == ("True", "ValidMetricFound")

    def shown() -> bool:
        # The status is written after the scale.
        targets = cluster.kubectl("get", "la", "--namespace", namespace, "--no-headers")
        return "1/1 (avg)" in targets or "1 more" in targets

    until(shown, what="the value of the formula in kubectl get la")


def test_a_formula_that_the_schema_cannot_check_is_named_in_the_condition(
    cluster, metrics_api, namespace, start_scaler
):
    metrics_api.values[f"{namespace}/queue"] = "90"
    cluster.apply(workload("Deployment", namespace, 2), on(namespace, "queue / (depth"))
    start_scaler("--downscale-stabilization=0s")
    workspace = Workspace(cluster, namespace)
    message = workspace.has_condition("InvalidFormula", "True", "InvalidExpression")
    assert message == (
        "spec.metrics[2].formula.expression: position 15: expected ')' or an operator, not the end"
    )
    workspace.has_condition("ScalingActive", "False", "FailedComputeFormula")
    assert workspace.replicas() == 2
