"""OpenAPI documents: small, but correct. kube-apiserver's aggregator fetches them and kubectl reads the merged result.

A metric has no schema of its own, so every path returns one of the list types. The v3 index names a document for each
group version, under a URL that changes with its content, as in kube-openapi's handler3.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wire.api import custom_metrics, external_metrics, resource_metrics

_encode = msgspec.json.Encoder(order="deterministic").encode

PATHS: Mapping[str, tuple[str, ...]] = {
    custom_metrics.V1BETA1: (
        "/{resource}/{name}/{subresource}",
        "/namespaces/{namespace}/metrics/{name}",
        "/namespaces/{namespace}/{resource}/{name}/{subresource}",
    ),
    custom_metrics.V1BETA2: (
        "/{resource}/{name}/{subresource}",
        "/namespaces/{namespace}/metrics/{name}",
        "/namespaces/{namespace}/{resource}/{name}/{subresource}",
    ),
    external_metrics.V1BETA1: ("/namespaces/{namespace}/{resource}",),
    resource_metrics.V1BETA1: (
        "/nodes",
        "/nodes/{name}",
        "/pods",
        "/namespaces/{namespace}/pods",
        "/namespaces/{namespace}/pods/{name}",
    ),
}


def v2_document(group_versions: Sequence[str], version: str) -> bytes:
    """The response of `/openapi/v2`: Swagger 2.0 over every path."""
    paths = {
        path: _path_item(path, group_version, in_v3=False)
        for group_version in group_versions
        for path in _paths(group_version)
    }
    return _encode(
        {
            "swagger": "2.0",
            "info": {"title": "loadline-adapter", "version": version},
            "paths": paths,
            "definitions": {},
        }
    )


def v3_document(group_version: str, version: str) -> bytes:
    """The response of `/openapi/v3/apis/<group>/<version>`."""
    return _encode(
        {
            "openapi": "3.0.0",
            "info": {"title": "loadline-adapter", "version": version},
            "paths": {
                path: _path_item(path, group_version, in_v3=True) for path in _paths(group_version)
            },
            "components": {"schemas": {}},
        }
    )


def v3_index(documents: Mapping[str, bytes]) -> bytes:
    """The response of `/openapi/v3`, from the documents by group version."""
    paths = {
        f"apis/{name}": {"serverRelativeURL": f"/openapi/v3/apis/{name}?hash={digest(document)}"}
        for name, document in documents.items()
    }
    return _encode({"paths": paths})


def digest(document: bytes) -> str:
    """A digest of the content: the entity tag of a document."""
    return hashlib.sha512(document).hexdigest().upper()


def _paths(group_version: str) -> Sequence[str]:
    return [f"/apis/{group_version}{path}" for path in PATHS[group_version]]


def _path_item(path: str, group_version: str, *, in_v3: bool) -> dict[str, Any]:
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    parameters = [_parameter(name, "path", in_v3=in_v3) for name in names]
    parameters += [_parameter(name, "query", in_v3=in_v3) for name in _selectors(group_version)]
    group, version = group_version.split("/")
    operation = "get" + "".join(
        part.strip("{}").title().replace(".", "") for part in [group, version, *path.split("/")[4:]]
    )
    described: dict[str, Any] = {"200": {"description": "OK"}}
    get: dict[str, Any] = {
        "description": "read the newest values of a metric",
        "operationId": operation,
        "responses": described,
    }
    if not in_v3:
        get |= {"produces": ["application/json"], "schemes": ["https"]}
    return {"get": get, "parameters": parameters}


def _selectors(group_version: str) -> Sequence[str]:
    both = group_version.startswith(custom_metrics.GROUP)
    return ("labelSelector", "metricLabelSelector") if both else ("labelSelector",)


def _parameter(name: str, place: str, *, in_v3: bool) -> dict[str, Any]:
    text: dict[str, Any] = {"schema": {"type": "string"}} if in_v3 else {"type": "string"}
    return {"name": name, "in": place, **({"required": True} if place == "path" else {}), **text}
