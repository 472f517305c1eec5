"""Many autoscalers with the statuses that a scaler would have written, for the page of `kubectl loadline ui`."""

import asyncio
import math
import time
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from testbed.cluster import Cluster
from testbed.programs import CRD
from wire.api.meta import time_from_unix
from wire.kube.client import KubeClient
from wire.kube.connection import connect

NAMESPACES: Final = ("billing", "checkout", "search", "shop")
NAMES: Final = ("api", "cart", "index", "mail", "orders", "prices", "reports", "web", "worker")
AT_ONCE: Final = 40
DAY_SECONDS: Final = 86_400
RECORDED_STEP_SECONDS: Final = 60

Json = dict[str, Any]

# Name, replicas, wanted, conditions, decision.
_STATES: Final[tuple[tuple[int, int, dict[str, str], Json], ...]] = (
    (5, 5, {}, {"summary": "stays at 5 replicas: queue_length proposes 5"}),
    (4, 8, {"ScalingLimited": "ScaleUpLimit"}, {"summary": "goes from 4 to 8 replicas: queue_length proposes 17; limited to 8 by the scale-up rate", "proposedReplicas": 17, "stabilizedReplicas": 17}),
    (9, 9, {}, {"summary": "stays at 9 replicas: queue_length proposes 3; recent recommendations hold it at 9", "proposedReplicas": 3, "stabilizedReplicas": 9}),
    (20, 20, {"ScalingLimited": "TooManyReplicas"}, {"summary": "stays at 20 replicas: queue_length proposes 31; limited to 20 by maxReplicas", "proposedReplicas": 31, "stabilizedReplicas": 31}),
    (2, 2, {"ScalingLimited": "TooFewReplicas"}, {"summary": "stays at 2 replicas: queue_length proposes 1; limited to 2 by minReplicas", "proposedReplicas": 1, "stabilizedReplicas": 1}),
    (6, 4, {}, {"summary": "would go from 6 to 4 replicas: queue_length proposes 4"}),
)  # fmt: skip
_FAILED: Final = "the HPA was unable to compute the replica count: unable to get external metric shop/queue_length: no rows"


def objects(count: int) -> Iterator[Json]:
    """LoadAutoscalers with statuses, in four namespaces. Every 97th has a failed metric, the first one has not."""
    for index in range(count):
        namespace = NAMESPACES[index % len(NAMESPACES)]
        name = NAMES[index // len(NAMESPACES) % len(NAMES)]
        number = index // (len(NAMESPACES) * len(NAMES))
        name = f"{name}-{number}" if number else name
        state = _STATES[index % len(_STATES)]
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        spec = {
            "scaleTargetRef": target,
            "minReplicas": 2,
            "maxReplicas": 20,
            "metrics": [_metric()],
        }
        if index % len(_STATES) == len(_STATES) - 1:
            spec["mode"] = "DryRun"
        yield {
            "apiVersion": "loadline.io/v1beta1",
            "kind": "LoadAutoscaler",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
            "status": _status(
                state, failed=index % 97 == 7, scaled_minutes_ago=5 + 7 * (index % 40)
            ),
        }


async def populate(cluster: Cluster, count: int) -> None:
    """Create the CRD, the namespaces, and `count` autoscalers; the first one with its Deployment."""
    cluster.apply_crd(CRD.read_text("utf-8"))
    for namespace in NAMESPACES:
        cluster.create_namespace(namespace)
    first = next(objects(1))["metadata"]
    cluster.kubectl(
        "create",
        "deployment",
        first["name"],
        "--image=web",
        "--replicas=5",
        f"-n{first['namespace']}",
    )
    cluster.kubectl(
        "patch",
        "deployment",
        first["name"],
        f"-n{first['namespace']}",
        "--subresource=status",
        "--type=merge",
        '--patch={"status": {"replicas": 5, "readyReplicas": 5}}',
    )
    client = KubeClient(await connect(cluster.kubeconfig, user_agent="loadline-testbed"))
    limit = asyncio.Semaphore(AT_ONCE)

    async def create(each: Json) -> None:
        path = (
            f"/apis/loadline.io/v1beta1/namespaces/{each['metadata']['namespace']}/loadautoscalers"
        )
        async with limit:
            created = msgspec.json.decode(await client.create(path, msgspec.json.encode(each)))
            body = msgspec.json.encode({**created, "status": each["status"]})
            await client.replace(f"{path}/{each['metadata']['name']}/status", body)

    event = scaled_event(first, at=_time(time.time() - 600))
    path = f"/api/v1/namespaces/{first['namespace']}/events"
    try:
        await asyncio.gather(*map(create, objects(count)))
        await client.create(path, msgspec.json.encode(event))
    finally:
        await client.close()


def recorded_day(count: int, *, until_unix_seconds: float) -> str:
    """In OpenMetrics, for `promtool tsdb create-blocks-from openmetrics`: a day of the first one, the last hour of the others."""
    start = int(until_unix_seconds) - DAY_SECONDS
    times = range(start, int(until_unix_seconds), RECORDED_STEP_SECONDS)
    load = [240.0 + 180.0 * math.sin(at / DAY_SECONDS * 4 * math.tau) for at in times]
    demand = [math.ceil(each / 30) for each in load]
    desired = [min(each, 12) for each in demand]
    # The window of 5 minutes delays a scale-down.
    current = [max(desired[max(0, index - 5) : index + 1]) for index in range(len(desired))]
    names = [each["metadata"] for each in objects(count)]
    first = _labels(names[0])
    samples: dict[str, list[str]] = {name: [] for name in _RECORDED}
    for at, *values in zip(times, current, desired, demand, load, strict=True):
        found = dict(zip(_RECORDED, (*values, 2, 12), strict=True))
        for name, value in found.items():
            labels = f'{first},metric="queue_length"' if name == "metric_value" else first
            samples[name].append(f"{_OF_SCALER}{name}{{{labels}}} {value:g} {at}")
    for index, each in enumerate(names[1:], 1):
        for at in times[-60:]:
            value = 8 + round(6 * math.sin(at / 1200 + index))
            line = f"{_OF_SCALER}status_current_replicas{{{_labels(each)}}} {value} {at}"
            samples["status_current_replicas"].append(line)
    lines = [
        line
        for name, found in samples.items()
        for line in (f"# TYPE {_OF_SCALER}{name} gauge", *found)
    ]
    return "\n".join([*lines, "# EOF", ""])


_OF_SCALER: Final = "loadline_scaler_autoscaler_"
_RECORDED: Final = (
    "status_current_replicas",
    "status_desired_replicas",
    "proposed_replicas",
    "metric_value",
    "effective_min_replicas",
    "effective_max_replicas",
)


def _labels(metadata: Json) -> str:
    return f'namespace="{metadata["namespace"]}",name="{metadata["name"]}",kind="LoadAutoscaler"'


def scaled_event(metadata: Json, *, at: str) -> Json:
    """As the scaler writes it."""
    return {
        "metadata": {"name": f"{metadata['name']}.1", "namespace": metadata["namespace"]},
        "involvedObject": {"kind": "LoadAutoscaler", **metadata},
        "type": "Normal",
        "reason": "SuccessfulRescale",
        "message": "New size: 8; reason: external metric queue_length(nil) above target",
        "lastTimestamp": at,
    }


def _metric() -> Json:
    selector = {"matchLabels": {"queue": "mail"}}
    metric = {"name": "queue_length", "selector": selector}
    target = {"type": "AverageValue", "averageValue": "30"}
    return {"type": "External", "external": {"metric": metric, "target": target}}


def _status(
    state: tuple[int, int, dict[str, str], Json], *, failed: bool, scaled_minutes_ago: int
) -> Json:
    replicas, wanted, reasons, decision = state
    limited = reasons.get("ScalingLimited")
    conditions = [
        _condition("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size"),
        _condition("ScalingActive", "True", "ValidMetricFound", "the HPA was able to calculate a replica count"),
        _condition("ScalingLimited", str(bool(limited)), limited or "DesiredWithinRange", "the desired count"),
    ]  # fmt: skip
    if failed:
        wanted, conditions[2] = replicas, _condition("ScalingLimited", "False", "DesiredWithinRange", "the desired count")  # fmt: skip
        conditions[1] = _condition("ScalingActive", "False", "FailedGetExternalMetric", _FAILED)
        decision = {
            "summary": f"keeps {replicas} replicas: external metric queue_length failed: no rows"
        }
    now = time.time()
    steps = [
        {
            "replicas": wanted + index % 3,
            "sinceUnixSeconds": now - 300 + 30 * index,
            "untilUnixSeconds": now - 275 + 30 * index,
        }
        for index in range(10)
    ]
    return {
        "lastScaleTime": _time(now - 60 * scaled_minutes_ago),
        "currentReplicas": replicas,
        "desiredReplicas": wanted,
        "currentMetrics": [],
        "conditions": conditions,
        "decision": decision,
        "history": {"recommendations": steps},
    }


def _condition(type_: str, status: str, reason: str, message: str) -> Json:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": _time(time.time()),
    }


def _time(unix_seconds: float) -> str:
    return time_from_unix(unix_seconds).isoformat(timespec="seconds").replace("+00:00", "Z")
