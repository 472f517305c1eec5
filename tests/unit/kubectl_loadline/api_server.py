"""An API server with the documents of a test, for whole command lines: no process and no cluster."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Self
from urllib.parse import parse_qsl, urlsplit

import msgspec

LAS = "/apis/loadline.io/v1beta1/loadautoscalers"
HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"


class Request(msgspec.Struct, frozen=True):
    """One request, as the server has received it."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    groups: tuple[str, ...] = ()


class ApiServer:
    """Serves `documents` by path, and 404 for others. A path in `silent` gets no response until the server stops."""

    def __init__(self, directory: Path) -> None:
        self.documents: dict[str, object] = {}
        self.refused: set[str] = set()
        self.silent: set[str] = set()
        self.requests: Queue[Request] = Queue()
        self._events: dict[str, Queue[object]] = {}
        self._stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.kubeconfig = directory / "kubeconfig"
        self.kubeconfig.write_text(_kubeconfig(self._server.server_address[1]))

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for events in self._events.values():
            events.put(None)
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Respond to one request."""
        address = urlsplit(handler.path)
        query = dict(parse_qsl(address.query))
        groups = tuple(handler.headers.get_all("Impersonate-Group") or ())
        self.requests.put(Request(address.path, query, dict(handler.headers), groups))
        if address.path in self.silent:
            self._stopped.wait()
            return
        if query.get("watch") == "true":
            self._stream(handler, self.events(address.path))
            return
        code, document = 200, self.documents.get(address.path)
        if address.path in self.refused:
            code, document = 403, _status(403, "Forbidden", f"cannot list {address.path}")
        elif document is None:
            code, document = 404, _status(404, "NotFound", f"{address.path} not found")
        body = json.dumps(document).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def events(self, path: str) -> Queue[object]:
        """What a watch of this path sends, also one that has not begun yet."""
        return self._events.setdefault(path, Queue())

    def received(self) -> list[Request]:
        """Every request so far."""
        return [self.requests.get() for _ in range(self.requests.qsize())]

    def _stream(self, handler: BaseHTTPRequestHandler, events: Queue[object]) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        while (event := events.get()) is not None:
            handler.wfile.write(json.dumps(event).encode() + b"\n")
            handler.wfile.flush()


def _handler(server: ApiServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.answer(self)

        def log_message(self, *_: object) -> None:
            """Nothing: the test checks what is printed."""

    return Handler


def _status(code: int, reason: str, message: str) -> dict[str, object]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}  # fmt: skip


def _kubeconfig(port: int) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [
                {"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}
            ],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
        }
    )


def autoscaler(name: str, *, namespace: str = "shop", **more: object) -> dict[str, object]:
    """An object of either kind for a Deployment of the same name, with a status in which it goes from 3 to 4 replicas."""
    able = {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale", "message": "ok"}
    status = {"currentReplicas": 3, "desiredReplicas": 4, "conditions": [able]}
    return {
        "metadata": {"namespace": namespace, "name": name, "resourceVersion": "5", **more},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": name}, "maxReplicas": 9},
        "status": status,
    }


def unscalable(name: str, *, namespace: str = "shop") -> dict[str, object]:
    """One whose target cannot be read."""
    found = autoscaler(name, namespace=namespace)
    able = {"type": "AbleToScale", "status": "False", "reason": "FailedGetScale", "message": "no such Deployment"}  # fmt: skip
    return {**found, "status": {"currentReplicas": 0, "desiredReplicas": 0, "conditions": [able]}}


def collection(*items: object) -> dict[str, object]:
    """A list of objects."""
    return {"metadata": {"resourceVersion": "7"}, "items": list(items)}


def within(path: str, namespace: str) -> str:
    """The collection of one namespace."""
    before, _, plural = path.rpartition("/")
    return f"{before}/namespaces/{namespace}/{plural}"
