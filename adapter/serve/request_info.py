"""PURE: a request line to what it asks for, as the API server itself reads it.

Upstream: `RequestInfoFactory.NewRequestInfo` of k8s.io/apiserver (endpoints/request/requestinfo.go), reduced to the
prefix `/apis`. Authorization and routing both go by it, so that no path means one thing to the one and another to the
other. Among the oddities kept: a metric of a namespace is the resource `metrics`, and a GET without a name is a list.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

_VERBS: Final = {
    "POST": "create",
    "GET": "get",
    "HEAD": "get",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_PREFIX_VERBS: Final = ("proxy", "watch")
_NAMESPACE_SUBRESOURCES: Final = ("status", "finalize")


class RequestInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a request is about. Only `verb` and `path` mean something when `is_resource` is False."""

    is_resource: bool
    verb: str
    path: str
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    """The path from the resource on; that of the namespace only where nothing follows it."""


def request_info(method: str, path: str, query: Mapping[str, str]) -> RequestInfo:
    """Read a request line; `path` is decoded."""
    stripped = path.strip("/")
    parts = stripped.split("/") if stripped else []
    if len(parts) < 4 or parts[0] != "apis":
        return RequestInfo(is_resource=False, verb=method.lower(), path=path)
    group, version, *rest = parts[1:]
    verb = _VERBS.get(method, "")
    if rest[0] in _PREFIX_VERBS and len(rest) > 1:
        verb, *rest = rest
    namespace = rest[1] if rest[0] == "namespaces" and len(rest) > 1 else ""
    if namespace and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        rest = rest[2:]
    resource, name, subresource = (*rest, "", "")[:3]
    return RequestInfo(
        is_resource=True,
        verb=_nameless(verb, query) if not name else verb,
        path=path,
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        subresource=subresource if verb != "proxy" else "",
        name=name,
        parts=tuple(rest),
    )


def _nameless(verb: str, query: Mapping[str, str]) -> str:
    if verb == "delete":
        return "deletecollection"
    if verb != "get":
        return verb
    return "watch" if query.get("watch", "false").lower() not in ("false", "0", "") else "list"
