"""Objects of the scaler's end-to-end tests: workloads, autoscalers, an external metrics API, and waiting for results."""

import json
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from testbed.cluster import Cluster
from testbed.waiting import until

CRD = Path(__file__).parents[2] / "charts" / "scaler" / "crds" / "loadautoscalers.yaml"
HPA, LA = "autoscaling/v2", "loadline.io/v1beta1"
KINDS = {HPA: "HorizontalPodAutoscaler", LA: "LoadAutoscaler"}
PLURALS = {HPA: "horizontalpodautoscalers", LA: "loadautoscalers"}
EXTERNAL = "external.metrics.k8s.io"
Json = dict[str, Any]


def workload(kind: str, namespace: str, replicas: int) -> Json:
    """A scalable workload with pods labelled app=web."""
    labels = {"app": "web"}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            **({"serviceName": "web"} if kind == "StatefulSet" else {}),
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web"}]},
            },
        },
    }


def autoscaler(
    namespace: str,
    metric: Json,
    *,
    api_version: str = LA,
    target_version: str = "apps/v1",
    kind: str = "Deployment",
    **spec: Any,
) -> Json:
    """An autoscaler named `web` with one metric and the target `web`."""
    return {
        "apiVersion": api_version,
        "kind": KINDS[api_version],
        "metadata": {"name": "web", "namespace": namespace, "labels": {"kept": "yes"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": target_version, "kind": kind, "name": "web"},
            "maxReplicas": 6,
            "metrics": [metric],
            **spec,
        },
    }


def queue(average: str, name: str = "queue_length") -> Json:
    """The length of the queue `mail`, with a target per replica."""
    return {
        "type": "External",
        "external": {
            "metric": {"name": name, "selector": {"matchLabels": {"queue": "mail"}}},
            "target": {"type": "AverageValue", "averageValue": average},
        },
    }


class Workspace:
    """One namespace with the autoscaler `web`: reads its state and waits for results."""

    def __init__(self, cluster: Cluster, namespace: str, api_version: str = LA) -> None:
        self._cluster = cluster
        self.namespace = namespace
        self._path = f"/apis/{api_version}/namespaces/{namespace}/{PLURALS[api_version]}/web"

    def replicas(self, resource: str = "deployment") -> int:
        """The replicas in the target's spec."""
        text = self._cluster.kubectl(
            "get",
            resource,
            "web",
            "--namespace",
            self.namespace,
            "--output=jsonpath={.spec.replicas}",
        )
        return int(text)

    def reaches(self, wanted: int, resource: str = "deployment") -> None:
        def reached() -> bool:
            assert self.replicas(resource) == wanted
            return True

        until(reached, what=f"{resource} web to have {wanted} replicas")

    def status(self) -> Json:
        found: Json = self.read().get("status", {})
        return found

    def read(self) -> Json:
        """Read the autoscaler."""
        found: Json = self._cluster.get(self._path)
        return found

    def conditions(self) -> dict[str, tuple[str, str, str]]:
        """Status, reason and message by type."""
        return {
            each["type"]: (each["status"], each["reason"], each["message"])
            for each in self.status().get("conditions", [])
        }

    def has_condition(self, kind: str, status: str, reason: str) -> str:
        """Wait for the condition; returns its message."""

        def has() -> str:
            found = self.conditions().get(kind, ("", "", ""))
            assert found[:2] == (status, reason), found
            return found[2]

        return until(has, what=f"condition {kind}={status}/{reason}")

    def events(self) -> list[Json]:
        path = f"/api/v1/namespaces/{self.namespace}/events"
        return [
            event
            for event in self._cluster.get(path)["items"]
            if event["involvedObject"]["name"] == "web"
            and event["source"].get("component") == "loadline-scaler"
        ]

    def has_event(self, reason: str, test: Callable[[str], bool] = bool) -> Json:
        def has() -> Json:
            found = [each for each in self.events() if each["reason"] == reason]
            matching = [each for each in found if test(each["message"])]
            assert matching, found
            return matching[0]

        return until(has, what=f"event {reason}")


class ExternalMetricsAPI:
    """An external metrics API whose values a test sets, independent of scrapes and rules."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self.values: dict[str, str] = {}
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.port = int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def document(self, path: str) -> Json | None:
        """`/apis/G/V` and `/apis/G/V/namespaces/N/METRIC`; None for anything else, such as /openapi/v2."""
        parts = path.split("?")[0].strip("/").split("/")
        if len(parts) == 3:
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{EXTERNAL}/v1beta1",
                "resources": [],
            }
        if len(parts) != 6:
            return None
        value = self.values.get(f"{parts[4]}/{parts[5]}")
        item = {
            "metricName": parts[5],
            "metricLabels": None,
            "timestamp": "2026-01-01T00:00:00Z",
            "value": value,
        }
        return {
            "kind": "ExternalMetricValueList",
            "apiVersion": f"{EXTERNAL}/v1beta1",
            "metadata": {},
            "items": [item] if value else [],
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                document = api.document(self.path)
                body = json.dumps(document).encode()
                self.send_response(404 if document is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Requests are not logged."""

        return Handler
