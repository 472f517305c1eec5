"""The user of a request: from the front proxy's headers, a client certificate, a token, or anonymous.

Upstream's delegated authentication (apiserver v0.36.3, authenticatorfactory/delegating.go): the first
of these that succeeds decides; if none does and one failed, the response is 401; a request without any
credentials is `system:anonymous`.
"""

import hashlib
import logging
import ssl
import time
import weakref
from collections.abc import Iterable
from functools import partial
from urllib.parse import unquote

import msgspec
from aiohttp import web
from cachetools import LRUCache, TTLCache
from multidict import CIMultiDictProxy

from wire.api.status import unauthorized
from wire.api.token_audiences import audiences_of
from wire.kube.client import decoded
from wire.kube.requests import Writer
from wire.serving.attributes import (
    ANONYMOUS,
    AUTHENTICATED_GROUP,
    UNAUTHENTICATED_GROUP,
    User,
    sorted_extra,
)
from wire.serving.certificates import Bundle, CertificateError, ClientIdentity
from wire.serving.client_address import client_address
from wire.serving.header_text import header_text, is_not_text
from wire.serving.review_cache import (
    ACCEPTED_BEFORE_SIZE_MAX,
    TOKENS_SIZE_MAX,
    UNKNOWN_TOKENS_SIZE_MAX,
    ReviewCache,
)
from wire.serving.review_queue import ReviewQueue
from wire.serving.reviews import review
from wire.serving.trust import FrontProxy, TrustSource

TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"  # noqa: S105 - a path
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"
# TTL of a verified certificate; its expiry is noticed at most this much late.
IDENTITY_SECONDS = 60.0

# Of a token in bytes, roughly. Tokens of service accounts have 1 kB, those of identity providers with hundreds of groups some 10 kB.
TOKEN_LENGTH_MAX = 64 << 10
# A digest in a dict of those that were accepted before, as measured.
DIGEST_BYTES = 256

_DER = 2  # _ssl.ENCODING_DER
Headers = CIMultiDictProxy[str]
log = logging.getLogger(__name__)


class Authenticator:
    """Finds the user of a request."""

    def __init__(
        self,
        trust: TrustSource,
        reviewer: Writer | None,
        *,
        audiences: tuple[str, ...] = (),
        token_cache_seconds: float = 10.0,
        queue: ReviewQueue | None = None,
    ) -> None:
        """`reviewer` None: no token is accepted. `audiences`: those of this server, in addition to the API server's.

        `queue`: for tokens that were never accepted.
        """
        self._trust = trust
        self._audiences = frozenset(audiences)
        self._reviewer = reviewer
        self._identities: TTLCache[tuple[Bundle, tuple[bytes, ...]], ClientIdentity | str] = (
            TTLCache(1024, IDENTITY_SECONDS, timer=time.monotonic)
        )
        self._queue = queue or ReviewQueue()
        # By hash, so that a memory dump does not show tokens.
        self._tokens = _token_cache(token_cache_seconds, TOKENS_SIZE_MAX)
        # Garbage must not displace the tokens above.
        self._unknown_tokens = _token_cache(token_cache_seconds, UNKNOWN_TOKENS_SIZE_MAX)
        self._accepted_before: LRUCache[bytes, None] = LRUCache(
            ACCEPTED_BEFORE_SIZE_MAX // DIGEST_BYTES
        )

    async def authenticate(self, request: web.BaseRequest) -> User:
        """Raises `StatusError` 401, 429 if too many unknown tokens wait for a review, and `Unavailable` if the token could not be reviewed."""
        return await self.identify(
            client_chain(request), request.headers, address=client_address(request)
        )

    async def identify(
        self, chain: tuple[bytes, ...], headers: Headers, *, address: str = ""
    ) -> User:
        """The user by the client's certificates (DER, leaf first), headers and address; raises as `authenticate`."""
        failures: list[str] = []
        user = self._by_certificate(chain, headers, failures) if chain else None
        if user is None:
            user = await self._by_token(headers, address, failures)
        if user is not None:
            return _with_group(user)
        if failures:
            log.debug("401: %s", "; ".join(failures))
            raise unauthorized()
        return User(name=ANONYMOUS, groups=(UNAUTHENTICATED_GROUP,))

    def _by_certificate(
        self, chain: tuple[bytes, ...], headers: Headers, failures: list[str]
    ) -> User | None:
        trust = self._trust.current
        if trust.front_proxy is not None:
            try:
                user = self._by_front_proxy(trust.front_proxy, chain, headers)
            except CertificateError as error:
                failures.append(str(error))
            else:
                if user is not None:
                    return user
        if trust.clients is not None:
            try:
                identity = self._identity(trust.clients, chain)
            except CertificateError as error:
                failures.append(str(error))
            else:
                if identity.common_name:
                    return User(
                        name=identity.common_name,
                        groups=identity.organizations,
                        extra=((CREDENTIAL_ID, (identity.credential_id,)),),
                    )
        return None

    def _by_front_proxy(
        self, proxy: FrontProxy, chain: tuple[bytes, ...], headers: Headers
    ) -> User | None:
        identity = self._identity(proxy.bundle, chain)
        if proxy.allowed_names and identity.common_name not in proxy.allowed_names:
            raise CertificateError(
                f"front proxy {identity.common_name!r} is not in the allowed list"
            )
        name = _first(headers, proxy.username_headers)
        if not name:
            return None
        groups: list[str] = []
        for header in proxy.group_headers:
            groups += headers.getall(header, ())
        return User(
            name=header_text(name),
            uid=header_text(_first(headers, proxy.uid_headers)),
            groups=tuple(map(header_text, filter(None, groups))),
            extra=_extra(headers, proxy.extra_headers_prefix),
        )

    def _identity(self, bundle: Bundle, chain: tuple[bytes, ...]) -> ClientIdentity:
        outcome = self._identities.get((bundle, chain))
        if outcome is None:
            outcome = self._identities[bundle, chain] = _verified(bundle, chain)
        if isinstance(outcome, str):
            raise CertificateError(outcome)
        return outcome

    async def _by_token(self, headers: Headers, address: str, failures: list[str]) -> User | None:
        scheme, _, rest = headers.get("Authorization", "").strip().partition(" ")
        token = rest.split(" ", 1)[0]
        reviewer = self._reviewer
        if scheme.lower() != "bearer" or not token or reviewer is None:
            return None
        if len(token) > TOKEN_LENGTH_MAX:
            raise unauthorized(
                f"Unauthorized: the bearer token is longer than {TOKEN_LENGTH_MAX} bytes"
            )
        if is_not_text(token):
            failures.append("the bearer token is not valid UTF-8")
            return None
        user = await self._user_of(reviewer, token, address)
        if user is None:
            failures.append("invalid bearer token")
        return user

    async def _user_of(self, reviewer: Writer, token: str, address: str) -> User | None:
        digest = hashlib.sha256(token.encode()).digest()
        reviewed = partial(_review, reviewer, token, self._audiences)
        if digest in self._accepted_before and digest not in self._unknown_tokens:
            user = await self._tokens.get(digest, reviewed)
        else:
            user = await self._unknown_tokens.get(
                digest, lambda: self._queue.make(address, reviewed)
            )
        if user is None:
            self._accepted_before.pop(digest, None)
        else:
            self._accepted_before[digest] = None
        return user


def client_chain(request: web.BaseRequest) -> tuple[bytes, ...]:
    """The certificate that the client presented and its intermediates, DER; empty without one."""
    transport = request.transport
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    if tls is None:
        return ()
    chain = _CHAINS.get(tls)
    if chain is None:
        leaf = tls.getpeercert(binary_form=True)
        chain = _CHAINS[tls] = (leaf, *_intermediates(tls)) if leaf else ()
    return chain


# The certificate of a connection does not change.
_CHAINS: weakref.WeakKeyDictionary[ssl.SSLObject, tuple[bytes, ...]] = weakref.WeakKeyDictionary()


def _intermediates(tls: ssl.SSLObject) -> list[bytes]:
    """Public since Python 3.13; before, the same call is on a private object."""
    inner = tls if hasattr(tls, "get_unverified_chain") else getattr(tls, "_sslobj", None)
    chain = inner.get_unverified_chain() if inner is not None else None
    return [one if isinstance(one, bytes) else one.public_bytes(_DER) for one in chain or ()][1:]


def _token_cache(ttl_seconds: float, size_max: int) -> ReviewCache[bytes, User | None]:
    return ReviewCache(
        ttl_seconds=lambda _: ttl_seconds, size_max=size_max, monotonic=time.monotonic
    )


class _ReviewedUser(msgspec.Struct, frozen=True):
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: dict[str, list[str]] = {}


class _ReviewStatus(msgspec.Struct, frozen=True):
    authenticated: bool = False
    user: _ReviewedUser = _ReviewedUser()
    audiences: tuple[str, ...] = ()
    error: str = ""


class _TokenReview(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


def _verified(bundle: Bundle, chain: tuple[bytes, ...]) -> ClientIdentity | str:
    """The identity, or why it is not accepted: as text, because a cached exception grows at every raise."""
    try:
        return bundle.identify(chain)
    except CertificateError as error:
        return str(error)


async def _review(reviewer: Writer, token: str, own_audiences: frozenset[str]) -> User | None:
    """The user of a token for one of these audiences or, as in every aggregated API server, for the API server itself."""
    spec: dict[str, object] = {"token": token}
    named = audiences_of(token) & own_audiences
    if named:
        spec["audiences"] = sorted(named)
    response = await review(reviewer, TOKEN_REVIEWS, kind="TokenReview", spec=spec)
    status = decoded(response, _TokenReview, what="TokenReview").status
    # An authenticator that does not know audiences authenticates the token, and returns none.
    if not status.authenticated or (named and named.isdisjoint(status.audiences)):
        return None
    user = status.user
    return User(
        name=user.username, uid=user.uid, groups=user.groups, extra=sorted_extra(user.extra)
    )


def _with_group(user: User) -> User:
    """Add `system:authenticated`, as AuthenticatedGroupAdder: not for the anonymous user, and not beside one of the two groups."""
    if (
        user.name == ANONYMOUS
        or AUTHENTICATED_GROUP in user.groups
        or UNAUTHENTICATED_GROUP in user.groups
    ):
        return user
    return msgspec.structs.replace(user, groups=(*user.groups, AUTHENTICATED_GROUP))


def _first(headers: Headers, names: Iterable[str]) -> str:
    for name in names:
        if value := headers.get(name):
            return value
    return ""


def _extra(headers: Headers, prefixes: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for name in headers:
        lower = name.lower()
        if not lower.startswith(prefixes):
            continue
        for prefix in prefixes:
            if lower.startswith(prefix):
                key = unquote(lower[len(prefix) :])
                found.setdefault(header_text(key), list(map(header_text, headers.getall(name))))
    return sorted_extra(found) if found else ()
