"""One side of the comparison: a program, its cluster and the kind of autoscaler that it scales."""

import asyncio
import datetime
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from scaler.api.upstream import Upstream
from testbed.differential.scaler import scenario_manifests
from testbed.differential.scaler.namespace_script import RECONCILE_DEADLINE_SECONDS, NamespaceScript
from testbed.differential.scaler.observed_state import (
    ObservedEvent,
    ObservedState,
    aggregated,
    neutral,
)
from testbed.differential.scaler.scenario_model import Autoscaler, ClusterState, Pod
from wire.api.loadline import API_VERSION as LOADLINE
from wire.api.status import StatusError, Unavailable
from wire.kube.client import KubeClient
from wire.kube.requests import MERGE_PATCH

POLL_SECONDS = 0.2
REOPEN_SECONDS = 0.5


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of autoscaler."""

    api_version: str
    kind: str
    plural: str


HPA = Kind(
    api_version="autoscaling/v2", kind="HorizontalPodAutoscaler", plural="horizontalpodautoscalers"
)
LOAD_AUTOSCALER = Kind(api_version=LOADLINE, kind="LoadAutoscaler", plural="loadautoscalers")


class EventLog:
    """The events about autoscalers of a cluster in creation order, by namespace and name."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self._of: dict[tuple[str, str], dict[str, ObservedEvent]] = {}
        self.late_seconds = 0.0
        """How long after it had happened the last event was stored. Programs store theirs one after the other."""

    async def follow(self) -> None:
        """Watch until cancelled."""
        version = ""
        while True:
            try:
                version = await self._followed(version)
            except Unavailable:
                # A busy API server closes a watch whose client does not read soon enough.
                await asyncio.sleep(REOPEN_SECONDS)
            except StatusError:
                version = ""

    async def _followed(self, version: str) -> str:
        """Follow one watch to its end, and return the version to continue from; empty for all events again."""
        params = {"resourceVersion": version} if version else {}
        async with aclosing(self._kube.watch("/api/v1/events", params)) as lines:
            async for line in lines:
                change = msgspec.json.decode(line)
                if change["type"] == "ERROR":
                    return ""
                version = self._record(change)
        return version

    def _record(self, change: Mapping[str, Any]) -> str:
        event = change["object"]
        if change["type"] == "ADDED" and event.get("firstTimestamp"):
            happened, stored = (
                datetime.datetime.fromisoformat(each)
                for each in (event["firstTimestamp"], event["metadata"]["creationTimestamp"])
            )
            self.late_seconds = (stored - happened).total_seconds()
        if change["type"] in ("ADDED", "MODIFIED"):
            about = event["involvedObject"]
            events = self._of.setdefault((about.get("namespace", ""), about.get("name", "")), {})
            events[event["metadata"]["name"]] = ObservedEvent(
                event["type"], event["reason"], event["message"], event.get("count", 1)
            )
        version: str = event["metadata"]["resourceVersion"]
        return version

    def conflicts(self, namespace: str) -> int:
        """The number of status updates that failed because the autoscaler was stale."""
        return sum(
            each.count
            for (of, _), events in self._of.items()
            if of == namespace
            for each in events.values()
            if each.reason == "FailedUpdateStatus" and "has been modified" in each.message
        )

    def about(self, namespace: str, name: str, *, counted: bool) -> tuple[ObservedEvent, ...]:
        """The events about one autoscaler."""
        found = aggregated(
            ObservedEvent(
                each.type,
                each.reason,
                neutral(each.message, namespace),
                each.count if counted else 0,
            )
            for each in self._of.get((namespace, name), {}).values()
        )
        return found if counted else tuple(sorted(found, key=msgspec.structs.astuple))


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A program's label, its kind of autoscaler and a client of its cluster."""

    label: str  # prefix of its namespaces
    kube: KubeClient
    kind: Kind
    events: EventLog
    # A burst of new pods overloads the watches of a busy API server.
    preparing: asyncio.Semaphore
    # Of the clusters of both sides.
    upstream: Upstream
    # Whether a new or changed autoscaler is reconciled at once.
    reconciles_at_once: bool
    # Whether it reads a scale again after each failed write, as the HPA controller does, or only after a conflict.
    rereads_after_each_error: bool
    # A reconcile that follows the previous one sooner started with a stale autoscaler.
    interval_min_seconds: float


class ScenarioNamespace:
    """The namespace of one scenario on one side, and the objects in it."""

    def __init__(self, side: Side, name: str, script: NamespaceScript) -> None:
        self.side = side
        self.name = name
        self.script = script

    async def prepare(self, state: ClusterState) -> None:
        """Create all objects; the autoscalers last, so that their first reconcile finds the others."""
        async with self.side.preparing:
            await self._create("/api/v1/namespaces", scenario_manifests.namespace(self.name))
            await asyncio.gather(*(self._create_pod(each) for each in state.pods))
            for autoscaler in state.autoscalers:
                await self._create_deployment(autoscaler)
        kind = self.side.kind
        for autoscaler in state.autoscalers:
            body = scenario_manifests.autoscaler_manifest(
                autoscaler, api_version=kind.api_version, kind=kind.kind
            )
            await self._create(self._autoscalers(), body)
            if autoscaler is not state.autoscalers[-1]:
                # Each is reconciled before the next is created, so that their order is fixed.
                await self._wait_until_reconciled(autoscaler)

    async def change_specs(self, old: ClusterState, new: ClusterState) -> bool:
        """Update the autoscalers' specs; returns whether any changed."""
        before = {each.name: each for each in old.autoscalers}
        changed = [
            each
            for each in new.autoscalers
            if (each.spec, each.target_ref)
            != (before[each.name].spec, before[each.name].target_ref)
        ]
        for autoscaler in changed:
            path = f"{self._autoscalers()}/{autoscaler.name}"
            current = msgspec.json.decode(await self.side.kube.get(path))
            kind = self.side.kind
            body = scenario_manifests.autoscaler_manifest(
                autoscaler, api_version=kind.api_version, kind=kind.kind
            )
            current["spec"] = body["spec"]
            await self.side.kube.replace(path, msgspec.json.encode(current))
        return bool(changed)

    async def change_pods(self, old: ClusterState, new: ClusterState) -> bool:
        """Update pods and Deployments; returns whether a pod changed."""
        before = {each.name: each for each in old.pods}
        after = {each.name: each for each in new.pods}
        gone = [name for name in before if name not in after]
        other = [
            name
            for name in before.keys() & after.keys()
            if not scenario_manifests.differ_only_in_status(before[name], after[name])
        ]
        await asyncio.gather(*(self._delete_pod(before[name]) for name in (*gone, *other)))
        created = [name for name in after if name not in before or name in other]
        await asyncio.gather(*(self._create_pod(after[name]) for name in created))
        updated = [
            each for name, each in after.items() if name not in created and each != before.get(name)
        ]
        await asyncio.gather(*(self._set_pod_status(each) for each in updated))
        for autoscaler in new.autoscalers:
            if not autoscaler.is_scripted and autoscaler not in old.autoscalers:
                await self._change_deployment(autoscaler)
        return bool(gone or created or updated)

    async def observed(
        self, *, with_events: bool = True, counted: bool = True
    ) -> dict[str, ObservedState]:
        """The state of every autoscaler by name. Without counts, events are sorted instead of in order."""
        return {
            each.name: await self._observed_one(each, with_events=with_events, counted=counted)
            for each in self.script.state.autoscalers
        }

    async def _wait_until_reconciled(self, autoscaler: Autoscaler) -> None:
        async with asyncio.timeout(RECONCILE_DEADLINE_SECONDS):
            while not await self._has_conditions(autoscaler):  # noqa: ASYNC110  another process sets them
                await asyncio.sleep(POLL_SECONDS)

    async def _has_conditions(self, autoscaler: Autoscaler) -> bool:
        status = (await self._read(autoscaler)).get("status", {})
        return bool(status.get("conditions"))

    async def _read(self, autoscaler: Autoscaler) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(
            await self.side.kube.get(f"{self._autoscalers()}/{autoscaler.name}")
        )
        return found

    def neutral_requests(self) -> set[str]:
        """The metric requests of this step."""
        return {neutral(each, self.name) for each in self.script.requests}

    async def clear(self) -> None:
        """Delete the autoscalers and let their last reconciles end."""
        for autoscaler in self.script.state.autoscalers:
            await self._delete(f"{self._autoscalers()}/{autoscaler.name}")
        for gate in self.script.gates():
            gate.open()

    async def _observed_one(
        self, autoscaler: Autoscaler, *, with_events: bool, counted: bool
    ) -> ObservedState:
        found = await self._read(autoscaler)
        status = found.get("status") or {}
        for condition in status.get("conditions") or []:
            condition["message"] = neutral(condition.get("message", ""), self.name)
        target = self.script.targets.get(autoscaler.name)
        return ObservedState(
            replicas=target.replicas if target else await self._deployed_replicas(autoscaler),
            scale_writes=tuple(target.writes) if target and counted else (),
            status=status,
            events=self.side.events.about(self.name, autoscaler.name, counted=counted)
            if with_events
            else (),
        )

    def _autoscalers(self) -> str:
        kind = self.side.kind
        return f"/apis/{kind.api_version}/namespaces/{self.name}/{kind.plural}"

    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self.name}/pods"

    def _deployments(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.name}/deployments"

    async def _create(self, path: str, body: Mapping[str, Any]) -> None:
        await self.side.kube.create(path, msgspec.json.encode(body))

    async def _create_pod(self, pod: Pod) -> None:
        await self._create(self._pods(), scenario_manifests.pod(pod))
        await self._set_pod_status(pod)
        if pod.deleting:
            await self.side.kube.send("DELETE", f"{self._pods()}/{pod.name}")

    async def _set_pod_status(self, pod: Pod) -> None:
        status = scenario_manifests.pod_status(pod, datetime.datetime.now(datetime.UTC))
        await self._patch(f"{self._pods()}/{pod.name}/status", status)

    async def _delete_pod(self, pod: Pod) -> None:
        path = f"{self._pods()}/{pod.name}"
        if pod.deleting:  # only the finalizer keeps it
            await self._patch(path, {"metadata": {"finalizers": None}})
        else:
            await self._delete(path)

    async def _delete(self, path: str) -> None:
        try:
            await self.side.kube.send("DELETE", path)
        except StatusError as error:
            if error.code != 404:
                raise

    async def _patch(self, path: str, body: Mapping[str, Any]) -> None:
        encoded = msgspec.json.encode(body)
        await self.side.kube.patch(path, encoded, content_type=MERGE_PATCH)

    async def _create_deployment(self, autoscaler: Autoscaler) -> None:
        if autoscaler.target_ref["kind"] == "Deployment" and autoscaler.scale.replicas is not None:
            await self._create(self._deployments(), scenario_manifests.deployment(autoscaler))
            path = f"{self._deployments()}/{autoscaler.target_ref['name']}/status"
            await self._patch(path, scenario_manifests.deployment_status(autoscaler))

    async def _change_deployment(self, autoscaler: Autoscaler) -> None:
        if autoscaler.target_ref["kind"] != "Deployment" or autoscaler.scale.replicas is None:
            return
        path = f"{self._deployments()}/{autoscaler.target_ref['name']}"
        await self._patch(path, {"spec": {"replicas": autoscaler.scale.replicas}})
        await self._patch(f"{path}/status", scenario_manifests.deployment_status(autoscaler))

    async def _deployed_replicas(self, autoscaler: Autoscaler) -> int:
        if autoscaler.target_ref["kind"] != "Deployment" or autoscaler.scale.replicas is None:
            return -1
        path = f"{self._deployments()}/{autoscaler.target_ref['name']}"
        found = msgspec.json.decode(await self.side.kube.get(path))
        replicas: int = found["spec"]["replicas"]
        return replicas
