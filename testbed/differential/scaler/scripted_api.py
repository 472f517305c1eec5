"""An aggregated API server for the scripts: the Scale of scripted targets and the three metrics APIs.

It responds exactly as the namespace's script says. Selectors are not applied but recorded, so that the requests of
both programs can be compared.
"""

import datetime
import time
from typing import Any

import msgspec
from aiohttp import web

from testbed.differential.scaler.namespace_script import NamespaceScript, Target
from testbed.differential.scaler.scenario_model import ErrorResponse, Sample, Usage

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


class ScriptedAPI:
    """All scripts by namespace, and the application that serves them."""

    def __init__(self) -> None:
        self.scripts: dict[str, NamespaceScript] = {}
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

    def _world(self, request: web.Request) -> NamespaceScript:
        script = self.scripts.get(request.match_info["ns"])
        if script is None:
            raise web.HTTPNotFound
        return script

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
        error = target.scale.get
        return _error_response(error) if error else _scale(request, target)

    async def _put_scale(self, request: web.Request) -> web.Response:
        target = self._world(request).targets[request.match_info["name"]]
        body = msgspec.json.decode(await request.read())
        replicas = body.get("spec", {}).get("replicas", 0)
        error = target.write(replicas, body["metadata"].get("resourceVersion", ""))
        return _error_response(error) if error else _scale(request, target)

    async def _usage(self, request: web.Request) -> web.Response:
        script = self._world(request)
        script.record_request(_request_key("usage", request))
        found = script.state.usage
        if isinstance(found, ErrorResponse):
            return _error_response(found)
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
        if isinstance(found, ErrorResponse):
            return _error_response(found)
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
        request_path = f"{of['resource']}/{of['name']}/{of['metric']}"
        return self._custom_list(request, request_path, of["resource"])

    async def _of_namespace(self, request: web.Request) -> web.Response:
        return self._custom_list(request, f"metrics/{request.match_info['metric']}", "namespaces")

    def _custom_list(self, request: web.Request, request_path: str, resource: str) -> web.Response:
        found = self._answer(request, request_path)
        if isinstance(found, ErrorResponse):
            return _error_response(found)
        version = request.match_info["version"]
        return _json(
            {
                "kind": "MetricValueList",
                "apiVersion": f"{CUSTOM}/{version}",
                "metadata": {},
                "items": [_custom_value(each, request, resource) for each in found],
            }
        )

    def _answer(
        self, request: web.Request, request_path: str
    ) -> tuple[Sample, ...] | ErrorResponse:
        script = self._world(request)
        script.record_request(_request_key(request_path, request))
        missing = ErrorResponse(
            code=404,
            reason="NotFound",
            message=f"the server could not find the metric {request_path}",
        )
        return script.state.responses.get(request_path, missing)


def _request_key(request_path: str, request: web.Request) -> str:
    """The request with its selectors, which must be equal on both sides."""
    return request_path + "?" + "&".join(f"{k}={v}" for k, v in sorted(request.query.items()))


def _json(content: Any, status: int = 200) -> web.Response:
    body = msgspec.json.encode(content)
    return web.Response(body=body, status=status, content_type="application/json")


def _error_response(error: ErrorResponse) -> web.Response:
    if error.plain:
        return web.Response(text=error.message, status=error.code)
    return _json(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": error.message,
            "reason": error.reason,
            "code": error.code,
        },
        error.code,
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
            "status": {"replicas": target.status_replicas, "selector": target.scale.selector},
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
