"""The Scale of an object as the object itself shows it: what its `/scale` subresource returns.

Upstream: `scaleFromDeployment`, `scaleFromStatefulSet`, `scaleFromReplicaSet` (pkg/registry/apps), `scaleFromRC`
(pkg/registry/core/replicationcontroller), and `scaleFromCustomResource` (apiextensions-apiserver, customresource).
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from scaler.algorithm.go_numbers import INT32_MAX
from scaler.cluster.target_scale import Scale, ScaleSpec, ScaleStatus
from wire.api import kube_json
from wire.api.labels import from_label_selector
from wire.api.meta import LabelSelector, ObjectMeta

ScaleOf = Callable[[bytes | msgspec.Raw], Scale]
"""Of one object. Raises `ValueError` or `msgspec.DecodeError` if its Scale must be read instead."""


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


_NOTHING: Final = msgspec.Raw()
_NULL: Final = msgspec.Raw(b"null")


class _Custom(msgspec.Struct, frozen=True):
    """A custom resource. What else it has, a user decides, and it may be large: it is not decoded."""

    metadata: ObjectMeta
    spec: msgspec.Raw = _NOTHING
    status: msgspec.Raw = _NOTHING


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
    of_replicas = _names(paths.spec_replicas_path)
    of_current = _names(paths.status_replicas_path)
    of_selector = _names(paths.label_selector_path) if paths.label_selector_path else None

    def scale_of(raw: bytes | msgspec.Raw) -> Scale:
        found = kube_json.decode(raw, _Custom)
        replicas = kube_json.decode(_at(found, of_replicas, missing=b"null"), int)
        current = kube_json.decode(_at(found, of_current, missing=b"0"), int)
        selector = ""
        if of_selector is not None:
            selector = kube_json.decode(_at(found, of_selector, missing=b'""'), str)
        return _scale(found.metadata, replicas, current, selector)

    return scale_of


def _scale(metadata: ObjectMeta, replicas: int, current: int, selector: str) -> Scale:
    if not (0 <= replicas <= INT32_MAX and 0 <= current <= INT32_MAX):
        raise ValueError("the replicas are not an int32")
    return Scale(
        metadata=metadata,
        spec=ScaleSpec(replicas=replicas),
        status=ScaleStatus(replicas=current, selector=selector),
    )


def _names(path: str) -> tuple[str, ...]:
    """Of a JSON path. Upstream: validation of CustomResourceDefinitions requires that it is below `.spec` or `.status`."""
    names = tuple(path.removeprefix(".").split("."))
    if names[0] not in ("spec", "status"):
        raise ValueError(f"{path} is not below .spec or .status")
    return names


def _at(
    found: _Custom, names: tuple[str, ...], *, missing: bytes | msgspec.Raw
) -> bytes | msgspec.Raw:
    """The value at a JSON path without arrays. Upstream: `NestedFieldNoCopy` (apimachinery, unstructured).

    A null at its end is not `missing`: what is read there is not null, so it is an error of the Scale.
    """
    value = found.spec if names[0] == "spec" else found.status
    for name in names[1:]:
        if value in (_NOTHING, _NULL):
            return missing
        value = kube_json.decode(value, dict[str, msgspec.Raw]).get(name, _NOTHING)
    return missing if value == _NOTHING else value
