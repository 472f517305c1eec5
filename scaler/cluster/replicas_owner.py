"""Who has set the replicas of a target, by its `metadata.managedFields`.

kube-apiserver notes there which client has changed which field last. A client that writes the Scale subresource is noted with
`subresource: scale`, under the name before the slash in its User-Agent, and that subresource can set nothing but the replicas.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import msgspec

from scaler.cluster.target_scale import TargetScale
from wire.api import kube_json
from wire.api.status import StatusError
from wire.kube.cache import METADATA_LIST
from wire.kube.requests import Reader

# The name before the slash in the User-Agent.
MANAGER = "loadline-scaler"

_Fields = dict[str, Any]
_Path = tuple[str, ...]


class _ManagedFields(msgspec.Struct, frozen=True, rename="camel"):
    manager: str = ""
    subresource: str = ""
    fields_v1: _Fields = msgspec.field(default_factory=dict, name="fieldsV1")


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    managed_fields: tuple[_ManagedFields, ...] = ()


class _Target(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()


class _Targets(msgspec.Struct, frozen=True):
    items: tuple[_Target, ...] = ()


async def is_set_by_scaler(kube: Reader, scale: TargetScale) -> bool:
    """Whether a scaler has set the replicas last, and no other client declares the same count. False where that is not known.

    It needs the right to list the targets. Raises `StatusError`, `Unavailable` and `msgspec.DecodeError` where it may be known later.
    """
    *collection, quoted, _ = scale.path.split("/")
    name = unquote(quoted)
    try:
        body = await kube.get(
            "/".join(collection), {"fieldSelector": f"metadata.name={name}"}, accept=METADATA_LIST
        )
    except StatusError as error:
        if error.code in (403, 404, 405):
            return False
        raise
    found = kube_json.decode(body, _Targets).items
    return any(_is_owner(each.metadata) for each in found if each.metadata.name == name)


def _is_owner(metadata: _Metadata) -> bool:
    own: set[_Path] = set()
    others: set[_Path] = set()
    for each in metadata.managed_fields:
        is_own = each.manager == MANAGER and each.subresource == "scale"
        (own if is_own else others).update(_leaves(each.fields_v1))
    return bool(own - others)


def _leaves(fields: _Fields, above: _Path = ()) -> Iterator[_Path]:
    for name, inside in fields.items():
        if inside:
            yield from _leaves(inside, (*above, name))
        else:
            yield (*above, name)
