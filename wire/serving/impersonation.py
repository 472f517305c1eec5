"""PURE: the user that a request impersonates, and the rights that this needs.

kube-apiserver handles the Impersonate headers of a request that it aggregates and removes them, so here they come from clients that
connect directly. Upstream's filter (apiserver v0.30, endpoints/filters/impersonation.go).
"""

import re
from typing import Final
from urllib.parse import unquote_to_bytes

import msgspec
from multidict import CIMultiDictProxy

from wire.api.status import failure, internal_error
from wire.serving.attributes import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    UNAUTHENTICATED_GROUP,
    Attributes,
    User,
    sorted_extra,
)
from wire.serving.header_text import header_text

USER: Final = "Impersonate-User"
GROUP: Final = "Impersonate-Group"
UID: Final = "Impersonate-Uid"
EXTRA_PREFIX: Final = "impersonate-extra-"
IMPERSONATION_LENGTH_MAX: Final = 64 << 10
"""Of all these headers. They are read before it is known whether the client may impersonate, so anyone may send them."""
_PREFIX: Final = "impersonate-"
_AUTHENTICATION: Final = "authentication.k8s.io"

_SERVICE_ACCOUNT: Final = re.compile(
    r"system:serviceaccount:(?P<namespace>[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)"
    r":(?P<name>(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)"
)
_WRONG_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")


class Impersonation(msgspec.Struct, frozen=True, kw_only=True):
    """The impersonated user, and what the client must be allowed to impersonate for it, in this order."""

    user: User
    required: tuple[Attributes, ...]


def impersonation(headers: CIMultiDictProxy[str]) -> Impersonation | None:
    """What the headers ask for; None without such headers.

    Raises `StatusError`: 500, as upstream does, for a group, UID or extra field without a user, and 431 for what takes long to read.
    """
    length = sum(
        len(name) + len(value)
        for name, value in headers.items()
        if name[: len(_PREFIX)].lower() == _PREFIX
    )
    if not length:
        return None
    if length > IMPERSONATION_LENGTH_MAX:
        raise failure(
            431,
            f"the Impersonate headers have {length} characters: at most {IMPERSONATION_LENGTH_MAX} are read",
        )
    name = header_text(headers.get(USER, ""))
    groups = tuple(map(header_text, headers.getall(GROUP, ())))
    extra = _extra(headers)
    uid = header_text(headers.get(UID, ""))
    if not name:
        if not (groups or extra or uid):
            return None
        raise internal_error(
            f"{GROUP}, {UID} and Impersonate-Extra-* need {USER}: send the name of the user as well"
        )
    account = _SERVICE_ACCOUNT.fullmatch(name)
    return Impersonation(
        user=User(
            name=name,
            uid=uid,
            groups=_all_groups(name, groups, account),
            extra=sorted_extra(extra),
        ),
        required=(
            _account(account["namespace"], account["name"]) if account else _core("users", name),
            *(_core("groups", group) for group in groups),
            *(_userextra(key, value) for key, values in extra.items() for value in values),
            *((_authentication("uids", uid),) if uid else ()),
        ),
    )


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for header, value in headers.items():
        lower = header.lower()
        if lower.startswith(EXTRA_PREFIX):
            found.setdefault(_key(lower[len(EXTRA_PREFIX) :]), []).append(header_text(value))
    return found


def _key(escaped: str) -> str:
    """Go's PathUnescape; a key that is not escaped correctly stays as it is."""
    if _WRONG_ESCAPE.search(escaped):
        return header_text(escaped)
    return unquote_to_bytes(escaped.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")


def _all_groups(
    name: str, groups: tuple[str, ...], account: re.Match[str] | None
) -> tuple[str, ...]:
    """The requested groups, or those that every service account has, and the one of all (un)authenticated users."""
    if account and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account['namespace']}")
    if name == ANONYMOUS:
        return groups if UNAUTHENTICATED_GROUP in groups else (*groups, UNAUTHENTICATED_GROUP)
    if AUTHENTICATED_GROUP in groups or UNAUTHENTICATED_GROUP in groups:
        return groups
    return (*groups, AUTHENTICATED_GROUP)


def _core(resource: str, name: str) -> Attributes:
    return Attributes(
        verb="impersonate", path="", is_resource_request=True, resource=resource, name=name
    )


def _account(namespace: str, name: str) -> Attributes:
    return msgspec.structs.replace(_core("serviceaccounts", name), namespace=namespace)


def _authentication(resource: str, name: str) -> Attributes:
    return msgspec.structs.replace(
        _core(resource, name), api_group=_AUTHENTICATION, api_version="v1"
    )


def _userextra(key: str, value: str) -> Attributes:
    return msgspec.structs.replace(_authentication("userextras", value), subresource=key)
