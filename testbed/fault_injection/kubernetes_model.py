"""A model of the parts of kube-apiserver that an adapter uses: discovery, pods, reviews, the trust ConfigMap.

Tokens say what they may do by their name, so that a test can check every response against the rights of
the client that got it: `admin` may do everything, `denied` is authenticated and may do nothing, and every
other token is invalid.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import msgspec

from testbed.fault_injection.faulty_server import Request, Response

ALLOWED_USER, DENIED_USER = "admin", "denied"
RESOURCES = [
    {
        "name": "pods",
        "singularName": "pod",
        "namespaced": True,
        "kind": "Pod",
        "shortNames": ["po"],
    },
    {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace"},
    {"name": "nodes", "singularName": "node", "namespaced": False, "kind": "Node"},
]
WATCH_SECONDS_MAX = 2.0


class KubernetesModel:
    """`respond` answers for a `FaultyServer`. `pods` are `(namespace, name)`; change them by `add` and `remove`."""

    def __init__(self, pods: set[tuple[str, str]], *, client_ca: str) -> None:
        """`client_ca`: PEM, published in the ConfigMap `extension-apiserver-authentication`."""
        self.pods = set(pods)
        # When a namespace got its first pod after it had none.
        self._filled_at: dict[str, float] = {}
        self._client_ca = client_ca
        self._version = 1
        self._events: list[bytes] = []
        self._changed = asyncio.Event()

    def add(self, namespace: str, name: str) -> None:
        """A pod appears."""
        if not self.has_pods(namespace):
            self._filled_at[namespace] = time.monotonic()
        self.pods.add((namespace, name))
        self._record("ADDED", namespace, name)

    def has_pods(self, namespace: str, *, for_seconds: float = 0.0) -> bool:
        """Whether the namespace has pods, and had some at any time in the last `for_seconds`."""
        has_some = any(each == namespace for each, _ in self.pods)
        return has_some and time.monotonic() - self._filled_at.get(namespace, 0.0) >= for_seconds

    def remove(self, namespace: str, name: str) -> None:
        """A pod is gone."""
        self.pods.discard((namespace, name))
        self._record("DELETED", namespace, name)

    async def respond(self, request: Request) -> Response:
        """One request."""
        parts = urlsplit(request.target)
        query = parse_qs(parts.query)
        if request.method == "POST":
            return self._reviewed(parts.path, request.body)
        if "watch" in query:
            if parts.path == "/api/v1/pods":
                return Response(stream=self._watch(int(query["resourceVersion"][0])))
            return Response(stream=_silence())
        match parts.path:
            case "/api/v1/pods":
                return _json(self._list())
            case "/api":
                return _json({"kind": "APIVersions", "versions": ["v1"]})
            case "/api/v1":
                verbs = ["get", "list", "watch"]
                listed = [{**each, "verbs": verbs} for each in RESOURCES]
                return _json({"kind": "APIResourceList", "groupVersion": "v1", "resources": listed})
            case "/apis":
                return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
            case "/api/v1/namespaces/kube-system/configmaps":
                return _json(
                    {"metadata": {"resourceVersion": "1"}, "items": [self._authentication()]}
                )
        return Response(status=404, body=b'{"kind":"Status","apiVersion":"v1","code":404}')

    def _reviewed(self, path: str, body: bytes) -> Response:
        review = msgspec.json.decode(body)
        if path.endswith("/tokenreviews"):
            name = review["spec"]["token"]
            known = name in (ALLOWED_USER, DENIED_USER)
            status = {"authenticated": known, **({"user": {"username": name}} if known else {})}
        else:
            status = {"allowed": review["spec"].get("user") == ALLOWED_USER}
        return _json({**review, "status": status}, status=201)

    def _list(self) -> dict[str, object]:
        return {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": str(self._version)},
            "items": [self._object(*each, self._version) for each in sorted(self.pods)],
        }

    def _object(self, namespace: str, name: str, version: int) -> dict[str, object]:
        metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"{namespace}-{name}",
            "resourceVersion": str(version),
            "labels": {"app": "web"},
        }
        return {
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata
        }  # fmt: skip

    def _authentication(self) -> dict[str, object]:
        name, namespace = "extension-apiserver-authentication", "kube-system"
        metadata = {"name": name, "namespace": namespace, "resourceVersion": "1"}
        return {"metadata": metadata, "data": {"client-ca-file": self._client_ca}}

    def _record(self, kind: str, namespace: str, name: str) -> None:
        self._version += 1
        event = {"type": kind, "object": self._object(namespace, name, self._version)}
        self._events.append(msgspec.json.encode(event) + b"\n")
        self._changed.set()
        self._changed = asyncio.Event()

    async def _watch(self, since: int) -> AsyncIterator[bytes]:
        """Events after a version, until the server ends the watch."""
        ends_at = asyncio.get_running_loop().time() + WATCH_SECONDS_MAX
        position = since - 1
        while True:
            while position < len(self._events):
                yield self._events[position]
                position += 1
            changed = self._changed
            try:
                async with asyncio.timeout_at(ends_at):
                    await changed.wait()
            except TimeoutError:
                return


async def _silence() -> AsyncIterator[bytes]:
    """A watch in which nothing happens."""
    await asyncio.sleep(WATCH_SECONDS_MAX)
    no_events: tuple[bytes, ...] = ()
    for line in no_events:
        yield line


def _json(document: object, *, status: int = 200) -> Response:
    return Response(status=status, body=msgspec.json.encode(document))
