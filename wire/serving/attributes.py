"""PURE: the user and the authorization attributes of a request.

`attributes_of` is upstream's RequestInfoFactory (apiserver v0.36.3, endpoints/request/requestinfo.go):
RBAC rules written for another API server have the same effect here.
"""

from collections.abc import Mapping
from urllib.parse import unquote, unquote_plus

import msgspec

from wire.api.status import bad_request
from wire.serving.request_path import split_path

ANONYMOUS = "system:anonymous"
AUTHENTICATED_GROUP = "system:authenticated"
UNAUTHENTICATED_GROUP = "system:unauthenticated"
PRIVILEGED_GROUP = "system:masters"

_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_COLLECTION_VERBS = {"get": "list", "delete": "deletecollection"}
_SPECIAL_VERBS = {"proxy", "watch"}
_COUNTING = ("watch", "fieldSelector")
_COUNTING_LENGTH_MAX = 3 * len("fieldSelector")
"""If each character is escaped."""
PARAMETERS_MAX = 1_000
VALUE_LENGTH_MAX = 8_192
"""Of a parameter that counts, before it is unescaped."""
_NAMESPACE_SUBRESOURCES = {"status", "finalize"}


class User(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated or anonymous user. `extra` is sorted by key, so that equal users compare equal."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Attributes(msgspec.Struct, frozen=True, kw_only=True):
    """What is requested: a resource of an API group or, if not `is_resource_request`, a path."""

    verb: str
    path: str
    is_resource_request: bool = False
    namespace: str = ""
    api_group: str = ""
    api_version: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


def sorted_extra(extra: Mapping[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A mapping in the form of `User.extra`."""
    return tuple((key, tuple(extra[key])) for key in sorted(extra))


def attributes_of(method: str, path: str, query: str = "") -> Attributes:
    """The attributes of a request; `path` is decoded (see `request_path`), `query` is not. Raises `StatusError` 400."""
    attributes = _by_path(method, path)
    if query and attributes.verb == "list":
        return _of_list(attributes, query)
    return attributes


def _by_path(method: str, path: str) -> Attributes:
    parts = split_path(path)
    if len(parts) < 3 or parts[0] not in ("api", "apis"):
        return Attributes(verb=method.lower(), path=path)
    group = ""
    if parts[0] == "apis":
        if len(parts) < 4:
            return Attributes(verb=method.lower(), path=path)
        group = parts[1]
        parts = parts[1:]
    version, *rest = parts[1:]
    verb = _VERBS.get(method, "")
    if rest[0] in _SPECIAL_VERBS and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    name = rest[1] if len(rest) > 1 else ""
    return Attributes(
        verb=verb if name else _COLLECTION_VERBS.get(verb, verb),
        path=path,
        is_resource_request=True,
        namespace=namespace,
        api_group=group,
        api_version=version,
        resource=rest[0],
        subresource=rest[2] if len(rest) > 2 and verb != "proxy" else "",
        name=name,
    )


def _of_list(attributes: Attributes, query: str) -> Attributes:
    """A list may be a watch, and its field selector may name one object."""
    counting = _counting(query)
    if not counting:
        return attributes
    watch = counting.get("watch", "false").lower() not in ("false", "0")
    name = ""
    for term in counting.get("fieldSelector", "").split(","):
        field, _, value = term.partition("=")
        if field == "metadata.name":
            value = value.removeprefix("=")
            # A value that cannot be a path segment names no object.
            name = "" if value in (".", "..") or not {"/", "%"}.isdisjoint(value) else value
            break
    return msgspec.structs.replace(attributes, verb="watch" if watch else "list", name=name)


def _counting(query: str) -> dict[str, str]:
    """The first value of each parameter that counts. Raises `StatusError` 400 for what takes long to read: anyone may send it."""
    if query.count("&") >= PARAMETERS_MAX:
        raise bad_request(f"the query has more than {PARAMETERS_MAX} parameters")
    found: dict[str, str] = {}
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        if len(name) > _COUNTING_LENGTH_MAX or (name := unquote(name)) not in _COUNTING:
            continue
        if len(value) > VALUE_LENGTH_MAX:
            raise bad_request(
                f"the parameter {name} has {len(value)} characters: at most {VALUE_LENGTH_MAX} are read"
            )
        if name not in found:
            found[name] = unquote_plus(value)
    return found
