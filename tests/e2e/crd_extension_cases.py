"""Specs with the fields that only a LoadAutoscaler has: those that the API server accepts, and what it says to the others."""

from typing import Any

from tests.e2e.crd_cases import CPU, QUEUE, spec


def suspend(**fields: Any) -> dict[str, Any]:
    return spec(suspend=fields)


AVERAGE = {
    "type": "External",
    "name": "queue",
    "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "30"}},
}
FALLBACK = {"type": "Replicas", "replicas": 10, "failureDurationSeconds": 180}


def metrics(*several: dict[str, Any]) -> dict[str, Any]:
    return spec(metrics=list(several))


def fallback(of: dict[str, Any] = AVERAGE, **fields: Any) -> dict[str, Any]:
    return metrics({**of, "fallback": fields})


def at_zero(**changes: Any) -> dict[str, Any]:
    return spec(minReplicas=0, metrics=[QUEUE], **changes)


ACCEPTED = {
    "a named metric": metrics(AVERAGE),
    "an input beside a metric that scales": metrics({**AVERAGE, "use": "Input"}, CPU),
    "use Scale": metrics({**AVERAGE, "use": "Scale"}),
    "fallback Fail": fallback(type="Fail"),
    "fallback Hold": fallback(type="Hold", failureDurationSeconds=0),
    "fallback Replicas": fallback(**FALLBACK),
    "fallback to zero replicas": fallback(type="Replicas", replicas=0),
    "fallback LastValue": fallback(type="LastValue", lastValueMaxAgeSeconds=3600),
    "an activation value": spec(minReplicas=0, metrics=[{**AVERAGE, "activationValue": "5"}]),
    "an activation value of a cpu": spec(
        minReplicas=0, metrics=[QUEUE, {**CPU, "activationValue": "50m"}]
    ),
    "an empty scaleToZero": at_zero(scaleToZero={}),
    "scaleToZero": at_zero(scaleToZero={"cooldownSeconds": 0, "manualZero": "Activate"}),
    "a period": spec(syncPeriodSeconds=5),
    "the longest period": spec(syncPeriodSeconds=3600),
    "mode Enforce": spec(mode="Enforce"),
    "mode DryRun": spec(mode="DryRun"),
    "an empty suspend": suspend(),
    "suspend down until a time": suspend(direction="Down", until="2026-12-01T06:00:00Z"),
    "suspend until a time with an offset": suspend(until="2026-12-01T06:00:00.5+02:00"),
    "suspend at a count": suspend(replicas=10),
    "suspend at zero": suspend(direction="Both", replicas=0),
    "an empty podReadiness": spec(podReadiness={}),
    "podReadiness": spec(
        podReadiness={"cpuInitializationPeriodSeconds": 0, "initialReadinessDelaySeconds": 86400}
    ),
}

REFUSED = {
    "a name that is not a DNS label": (
        metrics({**AVERAGE, "name": "My_Queue"}),
        "spec.metrics[0].name in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'",
    ),
    "two metrics of one name": (
        metrics(AVERAGE, {**CPU, "name": "queue"}),
        "spec.metrics: Invalid value: the names of the metrics must be unique",
    ),
    "only inputs": (
        metrics({**AVERAGE, "use": "Input"}),
        "spec.metrics: Invalid value: at least one metric must have use Scale",
    ),
    "zero with only an input that has a value at zero": (
        spec(minReplicas=0, metrics=[{**AVERAGE, "use": "Input"}, CPU]),
        "spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    ),
    "an unknown use": (
        metrics({**AVERAGE, "use": "Both"}),
        'spec.metrics[0].use: Unsupported value: "Both": supported values: "Scale", "Input"',
    ),
    "a fallback without a name": (
        metrics({**QUEUE, "fallback": FALLBACK}),
        "spec.metrics[0].name: Required value: must be set for a metric with a fallback",
    ),
    "a fallback of an input": (
        metrics({**AVERAGE, "use": "Input", "fallback": FALLBACK}, CPU),
        "spec.metrics[0].fallback: Forbidden: may not be set with use Input",
    ),
    "a fallback without a type": (
        fallback(replicas=10),
        "spec.metrics[0].fallback.type: Required value",
    ),
    "a fallback to replicas without a count": (
        fallback(type="Replicas"),
        "spec.metrics[0].fallback.replicas: Invalid value: must be set with type Replicas, and only then",
    ),
    "a count with another fallback": (
        fallback(type="Hold", replicas=3),
        "spec.metrics[0].fallback.replicas: Invalid value: must be set with type Replicas, and only then",
    ),
    "a last value of any age": (
        fallback(type="LastValue"),
        "spec.metrics[0].fallback.lastValueMaxAgeSeconds: Invalid value: must be set with type LastValue",
    ),
    "the last value of a cpu": (
        fallback({**CPU, "name": "cpu"}, type="LastValue", lastValueMaxAgeSeconds=60),
        "spec.metrics[0].fallback.type: Forbidden: LastValue requires an Object or External metric with a target of type AverageValue",
    ),
    "the last value of a metric with a target of type Value": (
        fallback({**QUEUE, "name": "queue"}, type="LastValue", lastValueMaxAgeSeconds=60),
        "spec.metrics[0].fallback.type: Forbidden: LastValue requires",
    ),
    "a negative activation value": (
        spec(minReplicas=0, metrics=[{**AVERAGE, "activationValue": -1}]),
        "spec.metrics[0].activationValue: Invalid value: -1: must be a quantity greater than or equal to 0, such as 5 or 500m",
    ),
    "an activation value that is not compared": (
        metrics({**AVERAGE, "activationValue": "5"}),
        "spec.metrics: Forbidden: activationValue requires minReplicas: 0",
    ),
    "scaleToZero with a minimum": (
        spec(scaleToZero={}),
        "spec.scaleToZero: Forbidden: requires minReplicas: 0",
    ),
    "an unknown manualZero": (
        at_zero(scaleToZero={"manualZero": "Ignore"}),
        'spec.scaleToZero.manualZero: Unsupported value: "Ignore": supported values: "Disable", "Activate"',
    ),
    "a period of zero": (
        spec(syncPeriodSeconds=0),
        "spec.syncPeriodSeconds: Invalid value: 0: spec.syncPeriodSeconds in body should be greater than or equal to 1",
    ),
    "a period of more than an hour": (
        spec(syncPeriodSeconds=3601),
        "spec.syncPeriodSeconds in body should be less than or equal to 3600",
    ),
    "an unknown mode": (
        spec(mode="Off"),
        'spec.mode: Unsupported value: "Off": supported values: "Enforce", "DryRun"',
    ),
    "an unknown direction": (
        suspend(direction="up"),
        'spec.suspend.direction: Unsupported value: "up": supported values: "Both", "Up", "Down"',
    ),
    "replicas in one direction": (
        suspend(direction="Up", replicas=3),
        "spec.suspend.replicas: Forbidden: may only be set with direction Both",
    ),
    "more replicas than the maximum": (
        suspend(replicas=11),
        "spec.suspend.replicas: Invalid value: must not be greater than `maxReplicas`",
    ),
    "a date without a time": (
        suspend(until="2026-12-01"),
        'spec.suspend.until: Invalid value: "2026-12-01"',
    ),
    "a time without a zone": (
        suspend(until="2026-12-01T06:00:00"),
        "spec.suspend.until: Invalid value",
    ),
    "a day that does not exist": (
        suspend(until="2026-02-30T06:00:00Z"),
        "spec.suspend.until: Invalid value",
    ),
    "a negative delay": (
        spec(podReadiness={"initialReadinessDelaySeconds": -1}),
        "spec.podReadiness.initialReadinessDelaySeconds in body should be greater than or equal to 0",
    ),
}
