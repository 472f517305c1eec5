"""The worlds as an aggregated API server: the Scale of scripted targets and the three metrics APIs.

It answers what the world of the namespace says, and nothing else: selectors are not applied but noted, so
that the questions of both programs can be compared.
"""

import datetime
import time
from typing import Any

import msgspec
from aiohttp import web

from testbed.differential.scaler.situation import Refusal, Sample, Usage
from testbed.differential.scaler.worlds import Target, World

SCRIPTED_GROUP = "testbed.loadline.io"
CUSTOM = "custom.metrics.k8s.io"
EXTERNAL = "external.metrics.k8s.io"
RESOURCE = "metrics.k8s.io"

SCRIPTED_RESOURCES = [
    {
        "name": "scripteds",
        "singularName": "scripted",
        "kind": "Scripted",
        "namespaced": True,
        "verbs": ["get"],
    },
    {
        "name": "scripteds/scale",
        "singularName": "",
        "kind": "Scale",
        "group": "autoscaling",
        "version": "v1",
        "namespaced": True,
        "verbs": ["get", "update"],
    },
]
POD_METRICS_RESOURCES = [
    {
        "name": "pods",
        "singularName": "",
        "kind": "PodMetrics",
        "namespaced": True,
        "verbs": ["get", "list"],
    }
]


class Worlds:
    """Every world by the name of its namespace, and the application that serves them."""

    def __init__(self) -> None:
        self.of: dict[str, World] = {}
        self.app = web.Application()
        scale = f"/apis/{SCRIPTED_GROUP}/v1/namespaces/{{ns}}/scripteds/{{name}}/scale"
        add = self.app.router
        add.add_get("/apis/{group}/{version}", self._resources)
        add.add_get(scale, self._get_scale)
        add.add_put(scale, self._put_scale)
        add.add_get(f"/apis/{RESOURCE}/{{version}}/namespaces/{{ns}}/pods", self._usage)
        add.add_get(f"/apis/{EXTERNAL}/{{version}}/namespaces/{{ns}}/{{metric}}", self._external)
        add.add_get(
            f"/apis/{CUSTOM}/{{version}}/namespaces/{{ns}}/{{resource}}/{{name}}/{{metric}}",
            self._custom,
        )
        add.add_get(
            f"/apis/{CUSTOM}/{{version}}/namespaces/{{ns}}/metrics/{{metric}}", self._of_namespace
        )

    def _world(self, request: web.Request) -> World:
        world = self.of.get(request.match_info["ns"])
        if world is None:
            raise web.HTTPNotFound
        return world

    async def _resources(self, request: web.Request) -> web.Response:
        group, version = request.match_info["group"], request.match_info["version"]
        by_group = {SCRIPTED_GROUP: SCRIPTED_RESOURCES, RESOURCE: POD_METRICS_RESOURCES}
        return _json(
            {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{group}/{version}",
                "resources": by_group.get(group, []),
            }
        )

    async def _get_scale(self, request: web.Request) -> web.Response:
        target = self._world(request).targets[request.match_info["name"]]
        await target.gate.passed()
        refusal = target.scripted.get
        return _refused(refusal) if refusal else _scale(request, target)

    async def _put_scale(self, request: web.Request) -> web.Response:
        target = self._world(request).targets[request.match_info["name"]]
        body = msgspec.json.decode(await request.read())
        replicas = body.get("spec", {}).get("replicas", 0)
        refusal = target.write(replicas, body["metadata"].get("resourceVersion", ""))
        return _refused(refusal) if refusal else _scale(request, target)

    async def _usage(self, request: web.Request) -> web.Response:
        world = self._world(request)
        world.note_question(_question("usage", request))
        found = world.situation.usage
        if isinstance(found, Refusal):
            return _refused(found)
        version = request.match_info["version"]
        namespace = request.match_info["ns"]
        items = [_pod_metrics(each, namespace) for each in found]
        return _json(
            {
                "kind": "PodMetricsList",
                "apiVersion": f"{RESOURCE}/{version}",
                "metadata": {},
                "items": items,
            }
        )

    async def _external(self, request: web.Request) -> web.Response:
        metric, version = request.match_info["metric"], request.match_info["version"]
        found = self._answer(request, f"external/{metric}")
        if isinstance(found, Refusal):
            return _refused(found)
        return _json(
            {
                "kind": "ExternalMetricValueList",
                "apiVersion": f"{EXTERNAL}/{version}",
                "metadata": {},
                "items": [_external_value(each, metric) for each in found],
            }
        )

    async def _custom(self, request: web.Request) -> web.Response:
        of = request.match_info
        question = f"{of['resource']}/{of['name']}/{of['metric']}"
        return self._custom_list(request, question, of["resource"])

    async def _of_namespace(self, request: web.Request) -> web.Response:
        return self._custom_list(request, f"metrics/{request.match_info['metric']}", "namespaces")

    def _custom_list(self, request: web.Request, question: str, resource: str) -> web.Response:
        found = self._answer(request, question)
        if isinstance(found, Refusal):
            return _refused(found)
        version = request.match_info["version"]
        return _json(
            {
                "kind": "MetricValueList",
                "apiVersion": f"{CUSTOM}/{version}",
                "metadata": {},
                "items": [_custom_value(each, request, resource) for each in found],
            }
        )

    def _answer(self, request: web.Request, question: str) -> tuple[Sample, ...] | Refusal:
        world = self._world(request)
        world.note_question(_question(question, request))
        missing = Refusal(
            code=404, reason="NotFound", message=f"the server could not find the metric {question}"
        )
        return world.situation.answers.get(question, missing)


def _question(question: str, request: web.Request) -> str:
    """With its selectors, as both programs are to send them."""
    return question + "?" + "&".join(f"{k}={v}" for k, v in sorted(request.query.items()))


def _json(content: Any, status: int = 200) -> web.Response:
    body = msgspec.json.encode(content)
    return web.Response(body=body, status=status, content_type="application/json")


def _refused(refusal: Refusal) -> web.Response:
    if refusal.plain:
        return web.Response(text=refusal.message, status=refusal.code)
    return _json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": refusal.message,
            "reason": refusal.reason,
            "code": refusal.code,
        },
        refusal.code,
    )


def _scale(request: web.Request, target: Target) -> web.Response:
    of = request.match_info
    return _json(
        {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": of["name"],
                "namespace": of["ns"],
                "uid": f"{of['ns']}-{of['name']}",
                "resourceVersion": str(target.version),
            },
            "spec": {"replicas": target.replicas},
            "status": {"replicas": target.status_replicas, "selector": target.scripted.selector},
        }
    )


def _ago(seconds: float) -> str:
    at = datetime.datetime.fromtimestamp(time.time() - seconds, datetime.UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _pod_metrics(usage: Usage, namespace: str) -> dict[str, Any]:
    containers = [
        {"name": name, "usage": dict(amounts)} for name, amounts in usage.containers.items()
    ]
    return {
        "metadata": {"name": usage.pod, "namespace": namespace},
        "timestamp": _ago(usage.age_seconds),
        "window": f"{usage.window_seconds}s",
        "containers": containers,
    }


def _external_value(sample: Sample, metric: str) -> dict[str, Any]:
    return {
        "metricName": metric,
        "metricLabels": dict(sample.labels),
        "timestamp": _ago(sample.age_seconds),
        "value": sample.value,
    }


def _custom_value(sample: Sample, request: web.Request, resource: str) -> dict[str, Any]:
    of = request.match_info
    kind = {"pods": "Pod", "namespaces": "Namespace"}.get(resource, "Service")
    old = of["version"] == "v1beta1"
    name = {"metricName": of["metric"]} if old else {"metric": {"name": of["metric"]}}
    window_field = "window" if old else "windowSeconds"
    window = {} if sample.window_seconds is None else {window_field: sample.window_seconds}
    described = {"kind": kind, "namespace": of["ns"], "name": sample.name, "apiVersion": "/v1"}
    return {
        "describedObject": described,
        **name,
        **window,
        "timestamp": _ago(sample.age_seconds),
        "value": sample.value,
    }
