"""Forecasts and candidates: specs that the API server accepts, and what it says to the others."""

from typing import Any

from tests.e2e.crd_cases import CPU, external, spec

LOAD = {
    "type": "External",
    "name": "load",
    "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "30"}},
}
STEPS = [{"weightPercent": 10, "holdSeconds": 1800}, {"weightPercent": 100, "holdSeconds": 3600}]
BEHAVIOR = {"scaleDown": {"stabilizationWindowSeconds": 60}}
ERRORS = {"metric": {"name": "error_ratio"}, "above": "0.01", "forSeconds": 120}


def forecast(of: dict[str, Any] = LOAD, **fields: Any) -> dict[str, Any]:
    return spec(metrics=[of], forecast={"metric": "load", **fields})


def candidate(**fields: Any) -> dict[str, Any]:
    return spec(candidate={"behavior": BEHAVIOR, "steps": STEPS, **fields})


def without(field: str) -> dict[str, Any]:
    found = candidate()
    del found["candidate"][field]
    return found


NOT_A_LOAD = "spec.forecast.metric: Invalid value: cannot be forecast: only a load that the replicas share can"

ACCEPTED = {
    "a forecast": forecast(),
    "a forecast with everything": forecast(
        mode="Add", leadSeconds=600, budgetPercent=10, timeZone="Europe/Berlin"
    ),
    "a forecast with the former fields": forecast(maxExtraPercent=100, maxWastePercent=3),
    "a forecast of cpu": forecast({**CPU, "name": "load"}),
    "a candidate": candidate(),
    "a candidate with conditions": candidate(
        abortWhen=[ERRORS, {"metric": {"name": "availability"}, "below": "0.999"}]
    ),
    "a candidate with metrics": candidate(metrics=[LOAD, CPU]),
    "a shadow": spec(candidate={"behavior": BEHAVIOR, "mode": "DryRun"}),
}

REFUSED = {
    "a forecast of a metric without that name": (
        forecast(CPU),
        "spec.forecast.metric: Invalid value: must be the name of a metric that scales",
    ),
    "a forecast of an input": (
        spec(metrics=[{**LOAD, "use": "Input"}, CPU], forecast={"metric": "load"}),
        "spec.forecast.metric: Invalid value: must be the name of a metric that scales",
    ),
    "a forecast of a value": (
        forecast({**external(type="Value", value="1")["metrics"][0], "name": "load"}),
        NOT_A_LOAD,
    ),
    "a forecast of memory": (
        forecast(
            {
                "type": "Resource",
                "name": "load",
                "resource": {
                    "name": "memory",
                    "target": {"type": "Utilization", "averageUtilization": 80},
                },
            }
        ),
        NOT_A_LOAD,
    ),
    "an unknown mode of a forecast": (
        forecast(mode="Enforce"),
        'spec.forecast.mode: Unsupported value: "Enforce": supported values: "Off", "DryRun", "Add"',
    ),
    "a lead of a minute": (
        forecast(leadSeconds=60),
        "spec.forecast.leadSeconds in body should be greater than or equal to 120",
    ),
    "a budget of more than everything": (
        forecast(budgetPercent=101),
        "spec.forecast.budgetPercent in body should be less than or equal to 100",
    ),
    "a candidate that changes nothing": (
        without("behavior"),
        "spec.candidate: Required value: must set metrics or behavior, which replace those of the spec",
    ),
    "a candidate without steps": (
        without("steps"),
        "spec.candidate.steps: Required value: must be set unless mode is DryRun",
    ),
    "a step with more than everything": (
        candidate(steps=[{"weightPercent": 101, "holdSeconds": 1}]),
        "spec.candidate.steps[0].weightPercent in body should be less than or equal to 100",
    ),
    "a condition without a limit": (
        candidate(abortWhen=[{"metric": {"name": "error_ratio"}}]),
        "spec.candidate.abortWhen[0]: Invalid value: must set either above or below",
    ),
    "a condition with both limits": (
        candidate(abortWhen=[{**ERRORS, "below": "0.001"}]),
        "spec.candidate.abortWhen[0]: Invalid value: must set either above or below",
    ),
    "a candidate of inputs only": (
        candidate(metrics=[{**LOAD, "use": "Input"}]),
        "spec.candidate.metrics: Invalid value: must contain a metric that scales",
    ),
}
