"""An API server with a few objects, for what reads the objects behind selectors."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping

from adapter.model import GroupResource
from wire.api import labels
from wire.api.status import Unavailable, forbidden
from wire.kube.requests import OnAccepted

EVERYTHING = labels.parse("")
WEB = labels.parse("app=web")
DEPLOYMENTS = GroupResource("deployments", "apps")


def named(namespace: str, name: str, version: int = 1, **own: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
    return {"metadata": {**metadata, "labels": own}}


def resource(name: str, kind: str, scope: str = "Namespaced") -> dict[str, object]:
    return {
        "resource": name,
        "singularResource": kind.lower(),
        "responseKind": {"kind": kind},
        "scope": scope,
        "shortNames": [name[:2]],
        "verbs": ["list", "watch"],
    }


def groups(*groups: tuple[str, str, list[dict[str, object]]]) -> bytes:
    items = [
        {"metadata": {"name": name}, "versions": [{"version": version, "resources": resources}]}
        for name, version, resources in groups
    ]
    return json.dumps({"kind": "APIGroupDiscoveryList", "items": items}).encode()


class FakeCluster:
    """An API server of a few objects; watches send what the test puts into `events`, None to fail."""

    def __init__(self) -> None:
        self.objects: dict[str, list[dict[str, object]]] = {}
        self.forbidden: set[str] = set()
        self.pages: dict[str, list[list[dict[str, object]]]] = {}
        self.requested: list[tuple[str, Mapping[str, str]]] = []
        self.in_flight = self.in_flight_max = 0
        self.may_list = asyncio.Event()
        self.may_list.set()
        self.events: asyncio.Queue[dict[str, object] | None] = asyncio.Queue()

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = ""
    ) -> bytes:
        if path == "/api":
            pods, nodes = resource("pods", "Pod"), resource("nodes", "Node", "Cluster")
            return groups(("", "v1", [pods, nodes]))
        if path == "/apis":
            return groups(("apps", "v1", [resource("deployments", "Deployment")]))
        self.requested.append((path, dict(params or {})))
        if path in self.forbidden:
            raise forbidden('pods is forbidden: User "me" cannot list resource "pods"')
        self.in_flight += 1
        self.in_flight_max = max(self.in_flight, self.in_flight_max)
        await asyncio.sleep(0)
        await self.may_list.wait()
        self.in_flight -= 1
        listed = {"metadata": {"resourceVersion": "1"}, "items": self.objects.get(path, [])}
        if pages := self.pages.get(path):
            page = int((params or {}).get("continue", 0))
            following = {"continue": str(page + 1)} if page + 1 < len(pages) else {}
            listed = {"metadata": {"resourceVersion": "1", **following}, "items": pages[page]}
        return json.dumps(listed).encode()

    async def watch(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        accept: str = "",
        timeout_seconds: float = 0.0,
        on_accepted: OnAccepted = lambda: None,
    ) -> AsyncGenerator[bytes, None]:
        while True:
            event = await self.events.get()
            if event is None:
                raise Unavailable("the watch is cut")
            yield json.dumps(event).encode()
