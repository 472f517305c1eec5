"""Autoscalers and their targets from manifests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import yaml

from kubectl_loadline.terminal.unread_file import unread_file
from scaler.algorithm.observed import PodSpec
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS, WatchedKind
from wire.api import kube_json
from wire.process import go_yaml

Json = dict[str, Any]
KINDS = {each.kind: each for each in (LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS)}
LISTS_MAX = 4
"""Of Lists in Lists: with anchors of YAML, a few lines may have a billion of objects."""


class UnusableManifest(ValueError):
    """A file cannot be used; the message has its name and the fix."""


class _Template(msgspec.Struct, frozen=True):
    spec: PodSpec = PodSpec()


class _TargetSpec(msgspec.Struct, frozen=True):
    template: _Template = _Template()


class Target(msgspec.Struct, frozen=True):
    """A Deployment, StatefulSet or another object with a pod template."""

    spec: _TargetSpec = _TargetSpec()

    @property
    def pod_spec(self) -> PodSpec:
        """That of its template."""
        return self.spec.template.spec


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One autoscaler, and the pod spec of its target, if the file has it."""

    kind: WatchedKind
    autoscaler: Autoscaler
    pod_spec: PodSpec | None = None


def read_manifest(file: Path, *, namespace: str = "") -> Manifest:
    """The only autoscaler of a file; `namespace` is used where the file has none. Raises `UnusableManifest`."""
    documents = read_objects(file, namespace=namespace)
    found = [each for each in documents if each.get("kind") in KINDS]
    if len(found) != 1:
        raise UnusableManifest(
            f"{file}: it contains {len(found) or 'no'} HorizontalPodAutoscalers or LoadAutoscalers: it must contain exactly one"
        )
    try:
        autoscaler = kube_json.decode(msgspec.json.encode(found[0]), Autoscaler)
        named = (autoscaler.spec.scale_target_ref.kind, autoscaler.spec.scale_target_ref.name)
        targets = [
            kube_json.decode(msgspec.json.encode(each), Target)
            for each in documents
            if (each.get("kind"), _name(each)) == named
        ]
    except msgspec.DecodeError as error:
        raise UnusableManifest(f"{file}: {error}") from error
    return Manifest(
        kind=KINDS[str(found[0]["kind"])],
        autoscaler=autoscaler,
        pod_spec=targets[0].pod_spec if targets else None,
    )


def read_objects(file: Path, *, namespace: str = "") -> list[Json]:
    """The objects of a file; `namespace` is used where the file has none. Raises `UnusableManifest`."""
    try:
        found = list(go_yaml.load_all(file.read_text("utf-8-sig")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UnusableManifest(unread_file(file, error)) from error
    documents = [each for each in found if isinstance(each, dict)]
    return [within(namespace, item) for each in documents for item in items_of(each)]


def items_of(document: Json, *, depth_max: int = LISTS_MAX) -> Iterator[Json]:
    """Those of a List, and of the Lists in it; a kind of its own may end with List, too.

    In the response of an API server only the list has an apiVersion and a kind, from which those of its items follow.
    """
    items, kind = document.get("items"), str(document.get("kind"))
    if (
        not depth_max
        or not kind.endswith("List")
        or not (isinstance(items, list) or kind == "List")
    ):
        yield document
        return
    of_list = {"apiVersion": document.get("apiVersion"), "kind": kind.removesuffix("List")}
    for each in items or ():
        if isinstance(each, dict):
            whole = each if kind == "List" or "kind" in each else {**of_list, **each}
            yield from items_of(whole, depth_max=depth_max - 1)


def within(namespace: str, document: Json) -> Json:
    """The object in a namespace, if it has none of its own: as of kubectl's -n."""
    metadata = document.get("metadata")
    if not namespace or not isinstance(metadata, dict) or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def _name(document: dict[str, Any]) -> str:
    metadata = document.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""
