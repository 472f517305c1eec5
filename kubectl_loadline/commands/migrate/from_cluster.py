"""What `migrate` reads from a cluster."""

from typing import Any

import msgspec

from kubectl_loadline.migration import Comparison, compare
from wire.api import kube_json
from wire.api.loadline import API_VERSION
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Reader
from wire.process.command_line.messages import print_error

Json = dict[str, Any]

HPAS = ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
SCALED_OBJECTS = ("keda.sh/v1alpha1", "ScaledObject", "scaledobjects")
LOAD_AUTOSCALERS = (API_VERSION, "LoadAutoscaler", "loadautoscalers")


async def read_originals(client: Reader, namespace: str) -> list[Json]:
    """HPAs and ScaledObjects, without the HPAs that KEDA creates for its ScaledObjects. `namespace` is empty for all.

    A kind that may not be listed is left out, because RBAC refuses one that the cluster does not have, too.
    Raises `Unavailable`, and `StatusError` if nothing may be listed.
    """
    found: list[Json] = []
    refusals: dict[str, StatusError] = {}
    for kind in (HPAS, SCALED_OBJECTS):
        try:
            found += await _listed(client, kind, namespace)
        except StatusError as error:
            if error.code != 403:
                raise
            refusals[kind[1]] = error
    if HPAS[1] in refusals and not found:
        raise refusals[HPAS[1]]
    for name, refusal in refusals.items():
        print_error(f"{name}s are left out: {refusal.message}")
    return [each for each in found if not belongs_to_keda(each)]


async def compared(client: Reader, namespace: str) -> list[Comparison]:
    """Each LoadAutoscaler and the HPA of the same target; those without such an HPA are left out.

    Raises `StatusError` and `Unavailable`.
    """
    hpas = {_target(hpa): hpa for hpa in await _listed(client, HPAS, namespace)}
    own = await _listed(client, LOAD_AUTOSCALERS, namespace)
    return [compare(hpas[_target(each)], each) for each in own if _target(each) in hpas]


async def _listed(client: Reader, kind: tuple[str, str, str], namespace: str) -> list[Json]:
    """Every object of a kind; none if the cluster does not have the kind."""
    api_version, name, plural = kind
    within = f"namespaces/{namespace}/" if namespace else ""
    try:
        body = await client.get(f"/apis/{api_version}/{within}{plural}")
    except StatusError as error:
        if error.code == 404:
            return []
        raise
    items = _items(body)
    if items is None:
        raise Unavailable(
            f"the response is not a list of {plural}: does another server respond, such as a proxy?"
        )
    return [{"apiVersion": api_version, "kind": name, **item} for item in items]


def _items(body: bytes) -> list[Json] | None:
    """Those of a list of objects; None if it is something else, such as a page of a proxy."""
    try:
        document = kube_json.decode(body, dict[str, Any])
    except msgspec.DecodeError:
        return None
    if "items" not in document:
        return None
    items: list[Json] = document["items"] or []
    return items


def belongs_to_keda(original: Json) -> bool:
    """Whether KEDA has created it for a ScaledObject, which is converted in its place."""
    metadata = original.get("metadata")
    owners = metadata.get("ownerReferences") if isinstance(metadata, dict) else None
    return isinstance(owners, list) and any(
        isinstance(each, dict) and each.get("kind") == "ScaledObject" for each in owners
    )


def _target(autoscaler: Json) -> tuple[str, str, str]:
    reference = autoscaler["spec"]["scaleTargetRef"]
    return autoscaler["metadata"]["namespace"], reference["kind"], reference["name"]
