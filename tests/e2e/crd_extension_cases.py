"""Specs with the fields that only a LoadAutoscaler has: those that the API server accepts, and what it says to the others."""

from typing import Any

from tests.e2e.crd_cases import CPU, QUEUE, describing, spec


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


def up(**rules: Any) -> dict[str, Any]:
    return spec(behavior={"scaleUp": rules})


PER_POD = {
    "type": "Pods",
    "pods": {
        "metric": {"name": "connections"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}


def deleting(*several: dict[str, Any], by: str, **changes: Any) -> dict[str, Any]:
    behavior = {"scaleDown": {"podDeletionCost": {"metric": by}}}
    return spec(metrics=list(several), behavior=behavior, **changes)


OFFICE = {"name": "office", "schedule": "0 8 * * 1-5", "durationSeconds": 36000, "minReplicas": 2}
HOLIDAYS = {"name": "holidays", "calendarRef": {"kind": "ScalingCalendar", "name": "retail"}}


def schedules(*several: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return spec(schedules=list(several), **changes)


def without(field: str, schedule: dict[str, Any] = OFFICE) -> dict[str, Any]:
    return {name: value for name, value in schedule.items() if name != field}


def formula(expression: str = "max(queue / 30, 2)", **changes: Any) -> dict[str, Any]:
    source = {"expression": expression, "target": {"type": "AverageValue", "averageValue": "1"}}
    return metrics(
        {**AVERAGE, "use": "Input"},
        {"type": "Formula", "name": "load", "formula": {**source, **changes}},
    )


ACCEPTED = {
    "a formula": formula(),
    "a formula with all operators": formula(
        "clamp(avg(queue, 'queue'), 1, 9) + (queue ?? 0 >= 5) * -2 / 3 - floor(.5) == 1"
    ),
    "a formula with a target of type Value": formula(target={"type": "Value", "value": "1"}),
    "a formula with a fallback": metrics(
        {**AVERAGE, "use": "Input"},
        {
            "type": "Formula",
            "name": "load",
            "formula": {"expression": "queue", "target": {"type": "Value", "value": 5}},
            "fallback": FALLBACK,
        },
    ),
    "a cron schedule": schedules({**OFFICE, "timeZone": "Europe/Berlin", "rampSeconds": 600}),
    "a descriptor": schedules({**OFFICE, "schedule": "@daily"}),
    "dates": schedules({**without("schedule"), "dates": ["2026-11-27T00:00:00"]}),
    "a calendar": schedules(HOLIDAYS),
    "ten schedules with a calendar, and forty without": schedules(
        *({**HOLIDAYS, "name": f"holidays-{each}"} for each in range(10)),
        *({**OFFICE, "name": f"office-{each}"} for each in range(40)),
    ),
    "a calendar with bounds": schedules({**HOLIDAYS, "minReplicas": 2, "maxReplicas": 9}),
    "a schedule with a larger maximum": schedules({**OFFICE, "minReplicas": 30, "maxReplicas": 60}),
    "a cap": schedules({**without("minReplicas"), "maxReplicas": 2}, OFFICE | {"name": "other"}),
    "podDeletionCost by a metric that scales": deleting({**CPU, "name": "cpu"}, by="cpu"),
    "podDeletionCost by an input": deleting(
        CPU, {**PER_POD, "name": "connections", "use": "Input"}, by="connections"
    ),
    "an empty panic": up(panic={}),
    "a panic": up(panic={"thresholdPercent": 150, "windowSeconds": 10, "holdSeconds": 120}),
    "an empty futility": up(futility={}),
    "a futility": up(futility={"readyTimeoutSeconds": 60, "maxUnreadyReplicas": 1}),
    "a named metric": metrics(AVERAGE),
    "an input beside a metric that scales": metrics({**AVERAGE, "use": "Input"}, CPU),
    "use Scale": metrics({**AVERAGE, "use": "Scale"}),
    "fallback Fail": fallback(type="Fail"),
    "fallback Hold": fallback(type="Hold", failureDurationSeconds=0),
    "fallback Replicas": fallback(**FALLBACK),
    "fallback to zero replicas": fallback(type="Replicas", replicas=0),
    "fallback LastValue": fallback(type="LastValue", lastValueMaxAgeSeconds=3600),
    "an activation value": spec(minReplicas=0, metrics=[{**AVERAGE, "activationValue": "5"}]),
    "zero with a formula of an input that has a value at zero": spec(
        minReplicas=0,
        metrics=[
            {**AVERAGE, "use": "Input"},
            {**formula()["metrics"][1], "activationValue": "5"},
        ],
    ),
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
    "every object of a kind": (
        describing(name="*"),
        'spec.metrics[0].object.describedObject.name: Invalid value: "*": must be the name of one object',
    ),
    "a formula without an expression": (
        formula(""),
        "spec.metrics[1].formula.expression in body should be at least 1 chars long",
    ),
    "a formula with a character that no formula has": (
        formula("queue % 2"),
        "spec.metrics[1].formula.expression in body should match",
    ),
    "an assignment": (
        formula("queue = 2"),
        'spec.metrics[1].formula.expression: Invalid value: "queue = 2": write == to compare',
    ),
    "a condition": (
        formula("queue ? 1"),
        'spec.metrics[1].formula.expression: Invalid value: "queue ? 1": write ?? for a value in place of a failed metric',
    ),
    "half a formula": (
        formula("queue + "),
        'spec.metrics[1].formula.expression: Invalid value: "queue + ": must not end with an operator',
    ),
    "a long formula": (
        formula("1+" * 600 + "1"),
        "spec.metrics[1].formula.expression: Too long: may not be more than 1024 bytes",
    ),
    "a formula with a utilization": (
        formula(target={"type": "Utilization", "value": "1"}),
        "spec.metrics[1].formula.target: Invalid value: must have type Value or AverageValue, set the field of that name, and no other",
    ),
    "a formula with a target of another type": (
        formula(target={"type": "Value", "averageValue": "1"}),
        "spec.metrics[1].formula.target: Invalid value: must have type Value or AverageValue, set the field of that name, and no other",
    ),
    "a formula of nothing": (
        metrics(CPU, {"type": "Formula", "formula": formula()["metrics"][1]["formula"]}),
        "spec.metrics: Invalid value: a metric of type Formula requires other metrics with a name",
    ),
    "type Formula without a formula": (
        metrics(AVERAGE, {"type": "Formula"}),
        "spec.metrics[1].formula: Required value: must populate information for the given metric source",
    ),
    "the last value of a formula": (
        metrics(
            AVERAGE,
            {
                **formula()["metrics"][1],
                "fallback": {"type": "LastValue", "lastValueMaxAgeSeconds": 60},
            },
        ),
        "spec.metrics[1].fallback.type: Forbidden: LastValue requires",
    ),
    "a cron expression with four fields": (
        schedules({**OFFICE, "schedule": "0 8 * *"}),
        'spec.schedules[0].schedule: Invalid value: "0 8 * *": spec.schedules[0].schedule in body should match',
    ),
    "a time zone in the cron expression": (
        schedules({**OFFICE, "schedule": "TZ=UTC 0 8 * * *"}),
        "spec.schedules[0].schedule in body should match",
    ),
    "a date with an offset": (
        schedules({**without("schedule"), "dates": ["2026-11-27T00:00:00Z"]}),
        "spec.schedules[0].dates[0]: Too long: may not be more than 19 bytes",
    ),
    "a time zone that is a path": (
        schedules({**OFFICE, "timeZone": "../etc"}),
        "spec.schedules[0].timeZone in body should match",
    ),
    "two kinds of starts": (
        schedules({**OFFICE, "dates": ["2026-11-27T00:00:00"]}),
        "spec.schedules[0]: Invalid value: exactly one of schedule, dates and calendarRef must be set",
    ),
    "no start": (
        schedules(without("schedule")),
        "spec.schedules[0]: Invalid value: exactly one of schedule, dates and calendarRef must be set",
    ),
    "a schedule without a duration": (
        schedules(without("durationSeconds")),
        "spec.schedules[0].durationSeconds: Required value: must be set with schedule or dates",
    ),
    "a schedule without bounds": (
        schedules(without("minReplicas")),
        "spec.schedules[0].minReplicas: Required value: minReplicas or maxReplicas must be set",
    ),
    "a calendar with a duration": (
        schedules({**HOLIDAYS, "durationSeconds": 60}),
        "spec.schedules[0].calendarRef: Forbidden: may not be set together with durationSeconds or timeZone",
    ),
    "eleven schedules with a calendar": (
        schedules(*({**HOLIDAYS, "name": f"holidays-{each}"} for each in range(11))),
        "spec.schedules: Invalid value: at most 10 schedules may refer to a calendar",
    ),
    "an unknown kind of calendar": (
        schedules({"name": "a", "calendarRef": {"kind": "Calendar", "name": "retail"}}),
        'spec.schedules[0].calendarRef.kind: Unsupported value: "Calendar"',
    ),
    "a schedule whose minimum is above its maximum": (
        schedules({**OFFICE, "minReplicas": 5, "maxReplicas": 4}),
        "spec.schedules[0].maxReplicas: Invalid value: must be greater than or equal to `minReplicas`",
    ),
    "a floor above the maximum": (
        schedules({**OFFICE, "minReplicas": 500}),
        "spec.schedules: Invalid value: minReplicas of a schedule must not be greater than spec.maxReplicas: set maxReplicas in the schedule too",
    ),
    "a cap below the minimum": (
        schedules({**without("minReplicas"), "maxReplicas": 1}, minReplicas=2),
        "spec.schedules: Invalid value: maxReplicas of a schedule must not be less than spec.minReplicas: set minReplicas in the schedule too",
    ),
    "two schedules of one name": (
        schedules(OFFICE, OFFICE),
        'spec.schedules[1]: Duplicate value: {"name":"office"}',
    ),
    "podDeletionCost by a metric without that name": (
        deleting(CPU, by="cpu"),
        "spec.behavior.scaleDown.podDeletionCost.metric: Invalid value: must be the name of a metric of type Pods, Resource or ContainerResource",
    ),
    "podDeletionCost by a metric that pods do not have": (
        deleting(AVERAGE, by="queue"),
        "spec.behavior.scaleDown.podDeletionCost.metric: Invalid value: must be the name of a metric of type",
    ),
    "podDeletionCost of a StatefulSet": (
        deleting(
            {**CPU, "name": "cpu"},
            by="cpu",
            scaleTargetRef={"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"},
        ),
        "spec.behavior.scaleDown.podDeletionCost: Forbidden: requires a target of kind Deployment or ReplicaSet",
    ),
    "a panic below the tolerance": (
        up(panic={"thresholdPercent": 109}),
        "spec.behavior.scaleUp.panic.thresholdPercent in body should be greater than or equal to 110",
    ),
    "a panic window of more than a minute": (
        up(panic={"windowSeconds": 61}),
        "spec.behavior.scaleUp.panic.windowSeconds in body should be less than or equal to 60",
    ),
    "a panic without scaling up": (
        up(panic={}, selectPolicy="Disabled"),
        "spec.behavior.scaleUp.panic: Forbidden: may not be set with selectPolicy Disabled",
    ),
    "a futility without pods": (
        up(futility={"maxUnreadyReplicas": 0}),
        "spec.behavior.scaleUp.futility.maxUnreadyReplicas in body should be greater than or equal to 1",
    ),
    "a futility without scaling up": (
        up(futility={}, selectPolicy="Disabled"),
        "spec.behavior.scaleUp.futility: Forbidden: may not be set with selectPolicy Disabled",
    ),
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
