"""Autoscalers that remember something while they are upgraded: what their load is, and which scales it asks for."""

import time
from datetime import UTC, datetime
from functools import partial

import msgspec

from testbed.audit_log import AuditLog, ScaleWrite
from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.waiting import until
from tests.e2e.learned_days import learned_days
from tests.e2e.scaler_objects import HPA, LA, Json, Workspace, autoscaler, workload

LOAD = "upgrade_load"
METRICS = [
    {"name": "load", "query": f"sum by (namespace, deployment) ({LOAD})"},
    {
        "name": "load",
        "describes": "deployments.apps",
        "query": f"sum by (namespace, deployment) ({LOAD})",
    },
]
NO_WINDOW = {"stabilizationWindowSeconds": 0}
ONE_POD_IN_HALF_AN_HOUR = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1800}]}
# Long enough to be remembered by both releases, and short enough to end within the test.
WINDOW_SECONDS = 180
# A load is read up to a period later than it is set, and the last higher one a period earlier.
EARLY_SECONDS, LATE_SECONDS = 8, 45
# What the forecast expects is within its lead of half an hour, and does not come before the end of the test.
RAISED_MINUTES = range(25, 90)
# Cases whose conditions may have other reasons later, and the conditions that all have for the whole time.
CHANGING = ("growing", "ending-window")
ALWAYS = ("AbleToScale", "ScalingActive")
# A conflict of the status: v0.1.0 also reconciles before it has seen the status that it wrote last.
HARMLESS = ("FailedUpdateStatus",)


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One autoscaler and its target: two loads, one after the other, and the scales that are written for them.

    `condition`: type, status and reason that show that it remembers something.
    """

    name: str
    replicas: int = 1
    loads: tuple[float, ...]
    written: tuple[int, ...]
    condition: tuple[str, str, str]
    average: str = "10"
    spec: Json = {}


OF_EITHER_KIND = (
    Case(
        name="window",
        replicas=3,
        loads=(60, 10),
        written=(6,),
        condition=("AbleToScale", "True", "ScaleDownStabilized"),
        spec={"behavior": {"scaleDown": {"stabilizationWindowSeconds": 3600}}},
    ),
    Case(
        name="ending-window",
        replicas=3,
        loads=(60, 10),
        written=(6,),
        condition=("AbleToScale", "True", "ScaleDownStabilized"),
        spec={"behavior": {"scaleDown": {"stabilizationWindowSeconds": WINDOW_SECONDS}}},
    ),
    Case(
        name="rising",
        loads=(90,),
        written=(2,),
        condition=("ScalingLimited", "True", "ScaleUpLimit"),
        spec={"behavior": {"scaleUp": ONE_POD_IN_HALF_AN_HOUR}},
    ),
    Case(
        name="falling",
        replicas=6,
        loads=(10,),
        written=(5,),
        condition=("ScalingLimited", "True", "ScaleDownLimit"),
        spec={"behavior": {"scaleDown": NO_WINDOW | ONE_POD_IN_HALF_AN_HOUR}},
    ),
    Case(
        name="growing",
        loads=(20,),
        written=(2,),
        condition=("AbleToScale", "True", "ReadyForNewScale"),
    ),
)


def of_loadautoscalers(namespace: str) -> tuple[Case, ...]:
    """With what HPAs do not have: a candidate in its second step, an acting forecast, a zero, and an active schedule."""
    today = datetime.now(UTC).strftime("%Y-%m-%dT00:00:00")
    sale = {"name": "sale", "dates": [today], "durationSeconds": 172_800, "minReplicas": 3}
    steps = [(50, 2), (75, 3600), (100, 3600)]
    candidate = {
        "metrics": [load(namespace, "trial", "10")],
        "behavior": {"scaleDown": NO_WINDOW},
        "steps": [{"weightPercent": weight, "holdSeconds": hold} for weight, hold in steps],
    }
    return (
        *OF_EITHER_KIND,
        Case(
            name="trial",
            replicas=2,
            loads=(60,),
            written=(4, 5),
            condition=("CandidateProgressing", "True", "Progressing"),
            average="30",
            spec={"candidate": candidate, "behavior": {"scaleDown": NO_WINDOW}},
        ),
        Case(
            name="forecast",
            replicas=2,
            loads=(60,),
            written=(4,),
            condition=("ForecastReliable", "True", "Reliable"),
            average="30",
            spec={
                "forecast": {"metric": "load", "mode": "Add", "leadSeconds": 1800},
                "behavior": {"scaleDown": NO_WINDOW},
            },
        ),
        Case(
            name="idle",
            loads=(0,),
            written=(0,),
            condition=("ScaledToZero", "True", "ScaledToZero"),
            spec={
                "minReplicas": 0,
                "scaleToZero": {"cooldownSeconds": 2},
                "behavior": {"scaleDown": NO_WINDOW},
            },
        ),
        Case(
            name="scheduled",
            loads=(10,),
            written=(3,),
            condition=("Scheduled", "True", "ScheduleActive"),
            spec={"schedules": [sale], "behavior": {"scaleDown": NO_WINDOW}},
        ),
    )


def load(namespace: str, deployment: str, average: str) -> Json:
    """The load of a Deployment as an external metric."""
    # Sorted, as the API server returns them: what a forecast has learned belongs to exactly this metric.
    selector = {"matchLabels": {"deployment": deployment, "namespace": namespace}}
    target = {"type": "AverageValue", "averageValue": average}
    return {
        "type": "External",
        "external": {"metric": {"name": "load", "selector": selector}, "target": target},
    }


class Fleet:
    """All cases as one kind in one namespace."""

    def __init__(
        self,
        cluster: Cluster,
        exporter: Exporter,
        audit_log: AuditLog,
        namespace: str,
        api_version: str,
    ) -> None:
        self._cluster, self._exporter, self._audit_log = cluster, exporter, audit_log
        self.namespace, self._api_version = namespace, api_version
        self._cases = OF_EITHER_KIND if api_version == HPA else of_loadautoscalers(namespace)
        self.expected = {each.name: list(each.written) for each in self._cases}
        self._dropped_at: dict[str, float] = {}
        self.settled: dict[str, Json] = {}

    def create(self) -> None:
        """The targets, and the autoscalers with what the forecast has learned. No scaler may run yet."""
        for case in self._cases:
            self._set_load(case.name, case.loads[0])
            document = self._document(case)
            target = workload("Deployment", self.namespace, case.replicas, case.name)
            self._cluster.apply(target, document)
            if "forecast" in case.spec:
                digest = learned_days(document["spec"], raised_minutes=RAISED_MINUTES)
                history = {"forecast": digest}
                patch = msgspec.json.encode({"status": {"history": history}}).decode()
                self._cluster.kubectl(
                    "patch", "la", case.name, f"-n{self.namespace}", "--subresource=status",
                    "--type=merge", f"--patch={patch}",
                )  # fmt: skip

    def settle(self) -> None:
        """Wait until each has done what its load asks for, and shows what it remembers."""
        for case in self._cases:
            self._workspace(case.name).reaches(case.written[-1], deadline_seconds=60)
            for later in case.loads[1:]:
                self._set_load(case.name, later)
                self._dropped_at[case.name] = time.time()
        for case in self._cases:
            self._workspace(case.name).has_condition(*case.condition)
            until(partial(self._is_reconciled_since_scaled, case.name), what="the next reconcile")
        self.settled = self.shown()

    def _is_reconciled_since_scaled(self, name: str) -> bool:
        conditions = self._workspace(name).status()["conditions"]
        return all(each["reason"] != "SucceededRescale" for each in conditions)

    def grow(self) -> None:
        """Raise one load by that of one replica."""
        replicas = self.expected["growing"][-1] + 1
        self.expected["growing"].append(replicas)
        self._set_load("growing", 10 * replicas)

    def has_grown(self) -> None:
        """Wait until the load is served."""
        growing, replicas = self._workspace("growing"), self.expected["growing"][-1]
        growing.reaches(replicas, deadline_seconds=60)

    def end_window(self) -> None:
        """Wait until the shorter window has ended, which began before the upgrade."""
        ending = self._workspace("ending-window")
        ending.reaches(1, deadline_seconds=WINDOW_SECONDS + LATE_SECONDS)

    def expect_end_of_window(self) -> float | None:
        """After how many seconds the shorter window has ended; None while it lasts."""
        *_, last = [each for each in self._writes() if each.name == "ending-window"]
        if last.replicas != 1:
            return None
        self.expected["ending-window"] = [6, 1]
        return last.at_unix_seconds - self._dropped_at["ending-window"]

    def wake(self) -> None:
        """Raise the loads of a target that is held by a window and of one at zero: neither has forgotten how to grow."""
        wanted = {"window": 8} | ({"idle": 2} if "idle" in self.expected else {})
        for name, replicas in wanted.items():
            self._set_load(name, 10 * replicas)
        for name, replicas in wanted.items():
            self._workspace(name).reaches(replicas, deadline_seconds=60)
            self.expected[name].append(replicas)

    def _workspace(self, name: str) -> Workspace:
        return Workspace(self._cluster, self.namespace, self._api_version, name)

    def _set_load(self, name: str, value: float) -> None:
        self._exporter.set(LOAD, value, namespace=self.namespace, deployment=name)

    def _document(self, case: Case) -> Json:
        metric = load(self.namespace, case.name, case.average)
        if self._api_version == LA:
            metric["name"] = "load"
        return autoscaler(
            self.namespace,
            metric,
            api_version=self._api_version,
            name=case.name,
            target=case.name,
            **{"maxReplicas": 20, **case.spec},
        )

    def _writes(self) -> list[ScaleWrite]:
        return self._audit_log.scale_writes(self.namespace)

    def written(self) -> dict[str, list[int]]:
        """Every scale that was written, by whomever."""
        found: dict[str, list[int]] = {each.name: [] for each in self._cases}
        for write in self._writes():
            found[write.name].append(write.replicas)
        return found

    def shown(self) -> dict[str, Json]:
        """Since when each condition has its status, and why, and the warnings in Events.

        Where the load goes on or a window ends, only since when.
        """
        return {
            each.name: {
                "conditions": {
                    condition["type"]: (
                        condition["status"],
                        condition["lastTransitionTime"],
                        "" if each.name in CHANGING else condition["reason"],
                    )
                    for condition in self._workspace(each.name).status()["conditions"]
                    if each.name not in CHANGING or condition["type"] in ALWAYS
                },
                "warnings": [
                    (event["reason"], event.get("count"))
                    for event in self._workspace(each.name).events()
                    if event["type"] == "Warning" and event["reason"] not in HARMLESS
                ],
            }
            for each in self._cases
        }
