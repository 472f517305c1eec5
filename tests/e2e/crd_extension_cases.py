"""Specs with the fields that only a LoadAutoscaler has: those that the API server accepts, and what it says to the others."""

from typing import Any

from tests.e2e.crd_cases import spec


def suspend(**fields: Any) -> dict[str, Any]:
    return spec(suspend=fields)


ACCEPTED = {
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
