"""Whether a user may do something, by SubjectAccessReviews: the API server's RBAC decides.

Upstream's delegated authorization (apiserver v0.36.3, authorizerfactory/delegating.go, and
responsewriters/errors.go for the text of a refusal).
"""

import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

import msgspec

from wire.api.quoting import go_quote
from wire.api.status import StatusDetails, StatusError, forbidden
from wire.kube.client import decoded
from wire.kube.requests import Writer
from wire.process.text_bytes import text_bytes
from wire.serving.attributes import ANONYMOUS, PRIVILEGED_GROUP, Attributes, User
from wire.serving.options import ALWAYS_ALLOWED
from wire.serving.review_cache import ANONYMOUS_SIZE_MAX, DECISIONS_SIZE_MAX, ReviewCache
from wire.serving.review_queue import ReviewQueue
from wire.serving.reviews import review

# Upstream caches no decision on longer attributes (maxControlledAttrCacheSize).
UNCACHED_SIZE = 10_000
PATH_SHOWN_MAX = 1_000
USERS_MAX = 1_024
"""Users that decisions have in common; with more, all are forgotten. The front proxy names the user in each request, and one may have
hundreds of groups."""
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

log = logging.getLogger(__name__)


class Decision(NamedTuple):
    """What the API server decided; `reason` is why it denied, often empty."""

    allowed: bool
    reason: str


class Authorizer:
    """Allows a request or raises."""

    def __init__(
        self,
        reviewer: Writer | None,
        *,
        always_allow_paths: tuple[str, ...] = ALWAYS_ALLOWED,
        allowed_cache_seconds: float = 10.0,
        denied_cache_seconds: float = 10.0,
        queue: ReviewQueue | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`reviewer` None: only `system:masters` and the always allowed paths pass. `queue`: for what anonymous clients ask."""
        self._reviewer = reviewer
        self._queue = queue or ReviewQueue()
        self._users: dict[User, User] = {}
        # A slash at the beginning is optional (apiserver's authorization/path).
        paths = [path.removeprefix("/") for path in always_allow_paths]
        self._allowed_paths = {path for path in paths if not path.endswith("*")}
        self._allowed_prefixes = tuple(path[:-1] for path in paths if path.endswith("*"))

        def ttl_seconds(decision: Decision) -> float:
            return allowed_cache_seconds if decision.allowed else denied_cache_seconds

        self._decisions: ReviewCache[tuple[User, Attributes], Decision] = ReviewCache(
            ttl_seconds=ttl_seconds,
            size_of=_size_of,
            size_max=DECISIONS_SIZE_MAX,
            monotonic=monotonic,
        )
        # Apart from the others, which clients without credentials must not displace.
        self._anonymous: ReviewCache[tuple[User, Attributes], Decision] = ReviewCache(
            ttl_seconds=ttl_seconds,
            size_of=_size_of,
            size_max=ANONYMOUS_SIZE_MAX,
            monotonic=monotonic,
        )

    def is_always_allowed(self, attributes: Attributes) -> bool:
        """Whether --authorization-always-allow-paths contains it."""
        if attributes.is_resource_request:
            return False
        path = attributes.path.removeprefix("/")
        return path in self._allowed_paths or (
            bool(self._allowed_prefixes) and path.startswith(self._allowed_prefixes)
        )

    async def authorize(self, user: User, attributes: Attributes, *, address: str = "") -> None:
        """Return if `user`, who sends from `address`, may. Raises `StatusError` 403, 429 if an anonymous user
        has to wait for too many others, and `Unavailable` if the review failed.
        """
        if PRIVILEGED_GROUP in user.groups or self.is_always_allowed(attributes):
            return
        decision = Decision(allowed=False, reason="there is no connection to an API server")
        if (reviewer := self._reviewer) is not None:
            decision = await self._decision(reviewer, user, attributes, address)
        if not decision.allowed:
            raise refusal(user, attributes, decision.reason)

    async def _decision(
        self, reviewer: Writer, user: User, attributes: Attributes, address: str
    ) -> Decision:
        def reviewed() -> Coroutine[Any, Any, Decision]:
            if user.name == ANONYMOUS:
                return self._queue.make(address, lambda: _review(reviewer, user, attributes))
            return _review(reviewer, user, attributes)

        key = (self._shared(user), attributes)
        if _size_of(key) >= UNCACHED_SIZE:
            return await reviewed()
        cache = self._anonymous if user.name == ANONYMOUS else self._decisions
        return await cache.get(key, reviewed)

    def _shared(self, user: User) -> User:
        if len(self._users) >= USERS_MAX:
            self._users.clear()
        return self._users.setdefault(user, user)


def _size_of(key: tuple[User, Attributes]) -> int:
    """The texts of the attributes, which the client chose (webhook.go's shouldCache). Equal users are kept once."""
    _, requested = key
    return sum(
        map(
            text_bytes,
            (
                requested.path,
                requested.namespace,
                requested.api_group,
                requested.api_version,
                requested.resource,
                requested.subresource,
                requested.name,
            ),
        )
    )


def refusal(user: User, attributes: Attributes, reason: str = "") -> StatusError:
    """403 with upstream's text: who cannot do what, where, and why if that is known."""
    sentence = (
        _cannot(user, attributes).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    )
    if reason:
        sentence = f"{sentence}: {reason}"
    details = StatusDetails(
        name=attributes.name, group=attributes.api_group, kind=attributes.resource
    )
    if not attributes.resource:
        return forbidden(f"forbidden: {sentence}", details)
    group = f".{attributes.api_group}" if attributes.api_group else ""
    name = f" {go_quote(attributes.name)}" if attributes.name else ""
    return forbidden(f"{attributes.resource}{group}{name} is forbidden: {sentence}", details)


def _cannot(user: User, attributes: Attributes) -> str:
    who = f"User {go_quote(user.name)} cannot {attributes.verb}"
    if not attributes.is_resource_request:
        return f"{who} path {go_quote(attributes.path[:PATH_SHOWN_MAX])}"
    resource = attributes.resource
    if attributes.subresource:
        resource = f"{resource}/{attributes.subresource}"
    what = f"{who} resource {go_quote(resource)} in API group {go_quote(attributes.api_group)}"
    if attributes.namespace:
        return f"{what} in the namespace {go_quote(attributes.namespace)}"
    return f"{what} at the cluster scope"


class _ReviewStatus(msgspec.Struct, frozen=True, rename="camel"):
    allowed: bool = False
    denied: bool = False
    reason: str = ""
    evaluation_error: str = ""


class _AccessReview(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


async def _review(reviewer: Writer, user: User, attributes: Attributes) -> Decision:
    spec: dict[str, Any] = {
        "user": user.name,
        "groups": user.groups,
        "uid": user.uid,
        "extra": dict(user.extra),
    }
    if attributes.is_resource_request:
        spec["resourceAttributes"] = {
            "namespace": attributes.namespace,
            "verb": attributes.verb,
            "group": attributes.api_group,
            "version": attributes.api_version,
            "resource": attributes.resource,
            "subresource": attributes.subresource,
            "name": attributes.name,
        }
    else:
        spec["nonResourceAttributes"] = {"path": attributes.path, "verb": attributes.verb}
    response = await review(reviewer, ACCESS_REVIEWS, kind="SubjectAccessReview", spec=spec)
    status = decoded(response, _AccessReview, what="SubjectAccessReview").status
    if status.evaluation_error:
        log.info("SubjectAccessReview for %s: %s", user.name, status.evaluation_error)
    allowed = status.allowed and not status.denied
    return Decision(allowed=allowed, reason="" if allowed else status.reason)
