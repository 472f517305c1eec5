"""What the cluster shows, about once a compressed minute."""

import asyncio
import datetime
from collections.abc import Callable
from typing import Any

import msgspec

from benchmarks.compressed_day.objects import HEARTBEAT_PATHS, NAMESPACE, WITH, WITHOUT
from benchmarks.compressed_day.outcome import Replicas, Sample, at
from benchmarks.compressed_day.played_load import PlayedLoad
from benchmarks.compressed_day.programs import Running
from wire.api.loadline import API_VERSION
from wire.kube.client import KubeClient
from wire.kube.connection import connect

SAMPLED_EVERY_SECONDS = 60.0
REPORTED_EVERY_SECONDS = 3600.0
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
AUTOSCALER = f"/apis/{API_VERSION}/namespaces/{NAMESPACE}/loadautoscalers/{WITH}"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events?fieldSelector=involvedObject.name%3D{WITH}"
FORECAST_EVENTS = ("ForecastSuspended", "ForecastReliable")


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event about the forecast."""

    reason: str
    message: str
    unix_seconds: float


async def record(
    running: Running, load: PlayedLoad, say: Callable[[str], None]
) -> tuple[list[Sample], list[Event]]:
    """Until the end of the load. Raises ProcessFailed when a program has exited by itself."""
    connection = await connect(running.cluster.kubeconfig, user_agent="compressed-day")
    client = KubeClient(connection)
    samples: list[Sample] = []
    said_at = load.begins
    try:
        while running.time.now() < load.ends:
            due = load.begins + len(samples) * SAMPLED_EVERY_SECONDS
            await asyncio.sleep(running.time.real_seconds_until(due))
            running.check()
            sample = await _sample(client, running, load)
            samples.append(sample)
            if sample.unix_seconds - said_at >= REPORTED_EVERY_SECONDS:
                said_at = sample.unix_seconds
                say(_line(sample))
        return samples, _events(await _get(client, EVENTS))
    finally:
        await client.close()


async def _sample(client: KubeClient, running: Running, load: PlayedLoad) -> Sample:
    deployments, autoscaler, *_ = await asyncio.gather(
        _get(client, DEPLOYMENTS),
        _get(client, AUTOSCALER),
        *[_change(client, path, running.time.now()) for path in HEARTBEAT_PATHS],
    )
    now = running.time.now()
    found = {each["metadata"]["name"]: each for each in deployments["items"]}
    status = autoscaler.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions") or ()}
    reliable = conditions.get("ForecastReliable", {})
    return Sample(
        unix_seconds=now,
        needed=load.needed_at(now),
        with_forecast=_replicas(found[WITH]),
        without_forecast=_replicas(found[WITHOUT]),
        added=status.get("forecast", {}).get("addedReplicas", 0),
        reason=reliable.get("reason", ""),
    )


async def _get(client: KubeClient, path: str) -> Any:
    return msgspec.json.decode(await client.get(path))


async def _change(client: KubeClient, path: str, now: float) -> None:
    annotations = {"testbed.loadline.io/heartbeat": f"{now:.0f}"}
    body = msgspec.json.encode({"metadata": {"annotations": annotations}})
    await client.patch(path, body)


def _replicas(deployment: dict[str, Any]) -> Replicas:
    return Replicas(
        requested=deployment["spec"]["replicas"],
        ready=deployment["status"].get("readyReplicas", 0),
    )


def _events(listed: Any) -> list[Event]:
    """Those of the forecast, in the compressed time that the scaler wrote."""
    found = [
        Event(
            reason=each["reason"],
            message=each["message"],
            unix_seconds=datetime.datetime.fromisoformat(each["lastTimestamp"]).timestamp(),
        )
        for each in listed["items"]
        if each["reason"] in FORECAST_EVENTS
    ]
    return sorted(found, key=lambda each: each.unix_seconds)


def _line(sample: Sample) -> str:
    one, other = sample.with_forecast, sample.without_forecast
    return (
        f"{at(sample.unix_seconds)}  {sample.needed} replicas needed, {one.ready} ready with a forecast "
        f"({sample.added} added), {other.ready} without; {sample.reason}"
    )
