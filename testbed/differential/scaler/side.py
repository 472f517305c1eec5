"""One of the two sides: which program scales which kind of autoscaler in which cluster."""

import asyncio
import datetime
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from testbed.differential.scaler import manifests
from testbed.differential.scaler.seen import Seen, SeenEvent, added_up, neutral
from testbed.differential.scaler.situation import Pod, Situation, Subject
from testbed.differential.scaler.worlds import LOOK_DEADLINE_SECONDS, World
from wire.kube.client import MERGE_PATCH, KubeClient
from wire.loadline_api import API_VERSION as LOADLINE
from wire.status import StatusError

POLL_SECONDS = 0.2


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
    """The events of a cluster about autoscalers, in the order in which they were made, by namespace and name."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self._of: dict[tuple[str, str], dict[str, SeenEvent]] = {}

    async def follow(self) -> None:
        """For ever."""
        version = ""
        while True:
            params = {"resourceVersion": version} if version else {}
            async with aclosing(self._kube.watch("/api/v1/events", params)) as lines:
                async for line in lines:
                    version = self._note(msgspec.json.decode(line))

    def _note(self, change: Mapping[str, Any]) -> str:
        event = change["object"]
        if change["type"] in ("ADDED", "MODIFIED"):
            about = event["involvedObject"]
            events = self._of.setdefault((about.get("namespace", ""), about["name"]), {})
            events[event["metadata"]["name"]] = SeenEvent(
                event["type"], event["reason"], event["message"], event.get("count", 1)
            )
        version: str = event["metadata"]["resourceVersion"]
        return version

    def conflicts(self, namespace: str) -> int:
        """How often a status could not be written because its autoscaler was not the newest."""
        return sum(
            each.count
            for (of, _), events in self._of.items()
            if of == namespace
            for each in events.values()
            if each.reason == "FailedUpdateStatus" and "has been modified" in each.message
        )

    def about(self, namespace: str, name: str, *, counted: bool) -> tuple[SeenEvent, ...]:
        """The events about one autoscaler."""
        found = added_up(
            SeenEvent(
                each.type,
                each.reason,
                neutral(each.message, namespace),
                each.count if counted else 0,
            )
            for each in self._of.get((namespace, name), {}).values()
        )
        return found if counted else tuple(sorted(found, key=msgspec.structs.astuple))


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Where a program is at work, and how its cluster is reached."""

    label: str  # part of the names of its namespaces
    kube: KubeClient
    kind: Kind
    events: EventLog
    # A burst of new pods is more than a watch of a busy API server bears.
    preparing: asyncio.Semaphore
    # A look that follows sooner after the one before was begun with an old autoscaler.
    apart_min_seconds: float


class Place:
    """One scenario on one side: a namespace and what stands in it."""

    def __init__(self, side: Side, namespace: str, world: World) -> None:
        self.side = side
        self.namespace = namespace
        self.world = world

    async def prepare(self, situation: Situation) -> None:
        """Create everything; the autoscalers last, so that their first look finds the rest."""
        async with self.side.preparing:
            await self._create("/api/v1/namespaces", manifests.namespace(self.namespace))
            await asyncio.gather(*(self._create_pod(each) for each in situation.pods))
            for subject in situation.subjects:
                await self._create_deployment(subject)
        kind = self.side.kind
        for subject in situation.subjects:
            body = manifests.autoscaler(subject, api_version=kind.api_version, kind=kind.kind)
            await self._create(self._autoscalers(), body)
            if subject is not situation.subjects[-1]:
                # Of several, each has looked before the next comes, or chance would decide who was first.
                await self._looked_at(subject)

    async def change_specs(self, old: Situation, new: Situation) -> bool:
        """Bring the autoscalers' specs up to date; whether anything was to do."""
        before = {each.name: each for each in old.subjects}
        changed = [
            each
            for each in new.subjects
            if (each.spec, each.target_ref)
            != (before[each.name].spec, before[each.name].target_ref)
        ]
        for subject in changed:
            path = f"{self._autoscalers()}/{subject.name}"
            current = msgspec.json.decode(await self.side.kube.get(path))
            kind = self.side.kind
            body = manifests.autoscaler(subject, api_version=kind.api_version, kind=kind.kind)
            current["spec"] = body["spec"]
            await self.side.kube.replace(path, msgspec.json.encode(current))
        return bool(changed)

    async def change_pods(self, old: Situation, new: Situation) -> bool:
        """Bring pods and Deployments up to date; whether a pod changed."""
        before = {each.name: each for each in old.pods}
        after = {each.name: each for each in new.pods}
        gone = [name for name in before if name not in after]
        other = [
            name
            for name in before.keys() & after.keys()
            if not manifests.becomes_by_status(before[name], after[name])
        ]
        await asyncio.gather(*(self._delete_pod(before[name]) for name in (*gone, *other)))
        created = [name for name in after if name not in before or name in other]
        await asyncio.gather(*(self._create_pod(after[name]) for name in created))
        restated = [
            each for name, each in after.items() if name not in created and each != before.get(name)
        ]
        await asyncio.gather(*(self._state_pod(each) for each in restated))
        for subject in new.subjects:
            if not subject.is_scripted and subject not in old.subjects:
                await self._change_deployment(subject)
        return bool(gone or created or restated)

    async def seen(self, *, with_events: bool = True, counted: bool = True) -> dict[str, Seen]:
        """Every autoscaler by its name; without their counts, the events are in no order either."""
        return {
            each.name: await self._seen_one(each, with_events=with_events, counted=counted)
            for each in self.world.situation.subjects
        }

    async def _looked_at(self, subject: Subject) -> None:
        async with asyncio.timeout(LOOK_DEADLINE_SECONDS):
            while not await self._has_conditions(subject):  # noqa: ASYNC110  another process sets them
                await asyncio.sleep(POLL_SECONDS)

    async def _has_conditions(self, subject: Subject) -> bool:
        status = (await self._read(subject)).get("status", {})
        return bool(status.get("conditions"))

    async def _read(self, subject: Subject) -> dict[str, Any]:
        found: dict[str, Any] = msgspec.json.decode(
            await self.side.kube.get(f"{self._autoscalers()}/{subject.name}")
        )
        return found

    def neutral_questions(self) -> set[str]:
        """What the metrics APIs were asked in this step."""
        return {neutral(each, self.namespace) for each in self.world.questions}

    async def clear(self) -> None:
        """Delete the autoscalers, and let their last looks end."""
        for subject in self.world.situation.subjects:
            await self._delete(f"{self._autoscalers()}/{subject.name}")
        for gate in self.world.gates():
            gate.open()

    async def _seen_one(self, subject: Subject, *, with_events: bool, counted: bool) -> Seen:
        found = await self._read(subject)
        status = found.get("status") or {}
        for condition in status.get("conditions") or []:
            condition["message"] = neutral(condition.get("message", ""), self.namespace)
        target = self.world.targets.get(subject.name)
        return Seen(
            replicas=target.replicas if target else await self._deployed_replicas(subject),
            scale_writes=tuple(target.writes) if target and counted else (),
            status=status,
            events=self.side.events.about(self.namespace, subject.name, counted=counted)
            if with_events
            else (),
        )

    def _autoscalers(self) -> str:
        kind = self.side.kind
        return f"/apis/{kind.api_version}/namespaces/{self.namespace}/{kind.plural}"

    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"

    def _deployments(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.namespace}/deployments"

    async def _create(self, path: str, body: Mapping[str, Any]) -> None:
        await self.side.kube.create(path, msgspec.json.encode(body))

    async def _create_pod(self, pod: Pod) -> None:
        await self._create(self._pods(), manifests.pod(pod))
        await self._state_pod(pod)
        if pod.deleting:
            await self.side.kube.delete(f"{self._pods()}/{pod.name}")

    async def _state_pod(self, pod: Pod) -> None:
        status = manifests.pod_status(pod, datetime.datetime.now(datetime.UTC))
        await self._patch(f"{self._pods()}/{pod.name}/status", status)

    async def _delete_pod(self, pod: Pod) -> None:
        path = f"{self._pods()}/{pod.name}"
        if pod.deleting:  # the finalizer is all that keeps it
            await self._patch(path, {"metadata": {"finalizers": None}})
        else:
            await self._delete(path)

    async def _delete(self, path: str) -> None:
        try:
            await self.side.kube.delete(path)
        except StatusError as error:
            if error.code != 404:
                raise

    async def _patch(self, path: str, body: Mapping[str, Any]) -> None:
        encoded = msgspec.json.encode(body)
        await self.side.kube.patch(path, encoded, content_type=MERGE_PATCH)

    async def _create_deployment(self, subject: Subject) -> None:
        if subject.target_ref["kind"] == "Deployment" and subject.scale.replicas is not None:
            await self._create(self._deployments(), manifests.deployment(subject))
            path = f"{self._deployments()}/{subject.target_ref['name']}/status"
            await self._patch(path, manifests.deployment_status(subject))

    async def _change_deployment(self, subject: Subject) -> None:
        if subject.target_ref["kind"] != "Deployment" or subject.scale.replicas is None:
            return
        path = f"{self._deployments()}/{subject.target_ref['name']}"
        await self._patch(path, {"spec": {"replicas": subject.scale.replicas}})
        await self._patch(f"{path}/status", manifests.deployment_status(subject))

    async def _deployed_replicas(self, subject: Subject) -> int:
        if subject.target_ref["kind"] != "Deployment" or subject.scale.replicas is None:
            return -1
        path = f"{self._deployments()}/{subject.target_ref['name']}"
        found = msgspec.json.decode(await self.side.kube.get(path))
        replicas: int = found["spec"]["replicas"]
        return replicas
