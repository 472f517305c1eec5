"""The Scale of an object as the object itself shows it: what its `/scale` subresource returns.

Upstream: `scaleFromDeployment`, `scaleFromStatefulSet`, `scaleFromReplicaSet` (pkg/registry/apps), `scaleFromRC`
(pkg/registry/core/replicationcontroller), and `scaleFromCustomResource` (apiextensions-apiserver, customresource).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import msgspec

from scaler.algorithm.go_numbers import INT32_MAX
from scaler.cluster.target_scale import Scale, ScaleSpec, ScaleStatus
from wire.api import kube_json
from wire.api.labels import from_label_selector
from wire.api.meta import LabelSelector, ObjectMeta

T = TypeVar("T")
ScaleOf = Callable[[bytes | msgspec.Raw], Scale]
"""Of one object. Raises `ValueError`, `TypeError` or `msgspec.DecodeError` if its Scale must be read instead."""


class _WorkloadSpec(msgspec.Struct, frozen=True):
    replicas: int
    selector: LabelSelector


class _WorkloadStatus(msgspec.Struct, frozen=True):
    replicas: int = 0


class _Workload(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _WorkloadSpec
    status: _WorkloadStatus = _WorkloadStatus()


class _ControllerSpec(msgspec.Struct, frozen=True):
    replicas: int
    selector: dict[str, str]


class _Controller(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: _ControllerSpec
    status: _WorkloadStatus = _WorkloadStatus()


class _ScalePaths(msgspec.Struct, frozen=True, rename="camel"):
    """JSON paths without arrays, such as `.spec.replicas`."""

    spec_replicas_path: str
    status_replicas_path: str
    label_selector_path: str = ""


class _Subresources(msgspec.Struct, frozen=True):
    scale: _ScalePaths | None = None


class _Version(msgspec.Struct, frozen=True):
    name: str
    subresources: _Subresources = _Subresources()


class _DefinitionSpec(msgspec.Struct, frozen=True):
    versions: tuple[_Version, ...]


class _Definition(msgspec.Struct, frozen=True):
    spec: _DefinitionSpec


class _Named(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


def of_workload(raw: bytes | msgspec.Raw) -> Scale:
    """Of a Deployment, StatefulSet or ReplicaSet."""
    found = kube_json.decode(raw, _Workload)
    selector = str(from_label_selector(found.spec.selector))
    return _scale(found.metadata, found.spec.replicas, found.status.replicas, selector)


def of_replication_controller(raw: bytes | msgspec.Raw) -> Scale:
    """Of a ReplicationController."""
    found = kube_json.decode(raw, _Controller)
    labels = LabelSelector(match_labels=found.spec.selector)
    selector = str(from_label_selector(labels))
    return _scale(found.metadata, found.spec.replicas, found.status.replicas, selector)


BUILT_IN: Mapping[tuple[str, str], ScaleOf] = MappingProxyType(
    {
        ("apps", "deployments"): of_workload,
        ("apps", "replicasets"): of_workload,
        ("apps", "statefulsets"): of_workload,
        ("", "replicationcontrollers"): of_replication_controller,
    }
)
"""By group and resource."""


def of_custom_resources(definition: bytes, version: str) -> ScaleOf:
    """For the objects of a CustomResourceDefinition. Raises as a `ScaleOf`, if this version has no Scale."""
    versions = kube_json.decode(definition, _Definition).spec.versions
    scales = [each.subresources.scale for each in versions if each.name == version]
    if not scales or scales[0] is None:
        raise ValueError(f"version {version} has no scale subresource")
    paths = scales[0]

    def scale_of(raw: bytes | msgspec.Raw) -> Scale:
        document = kube_json.decode(raw, dict)
        selector = ""
        if paths.label_selector_path:
            selector = _typed(str, _at(document, paths.label_selector_path, missing=""))
        replicas = _typed(int, _at(document, paths.spec_replicas_path, missing=None))
        current = _typed(int, _at(document, paths.status_replicas_path, missing=0))
        return _scale(kube_json.decode(raw, _Named).metadata, replicas, current, selector)

    return scale_of


def _scale(metadata: ObjectMeta, replicas: int, current: int, selector: str) -> Scale:
    if not (0 <= replicas <= INT32_MAX and 0 <= current <= INT32_MAX):
        raise ValueError("the replicas are not an int32")
    return Scale(
        metadata=metadata,
        spec=ScaleSpec(replicas=replicas),
        status=ScaleStatus(replicas=current, selector=selector),
    )


def _typed(as_type: type[T], found: Any) -> T:
    """Exactly of this type: a null, which Go does not read as a number or text here, is an error of the Scale."""
    if type(found) is not as_type:
        raise TypeError(f"{found!r} is not of the type {as_type.__name__}")
    return found


def _at(document: dict[str, Any], path: str, *, missing: Any) -> Any:
    """The value at a JSON path without arrays. Upstream: `NestedFieldNoCopy` (apimachinery, unstructured)."""
    found: Any = document
    for name in path.removeprefix(".").split("."):
        if found is None:
            return missing
        if not isinstance(found, dict):
            raise TypeError(f"{path} leads through a value that is not an object")
        if name not in found:
            return missing
        found = found[name]
    return found
