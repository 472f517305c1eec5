"""What an adapter can do with the credentials of the scaler: never what the scaler can do.

An adapter sees everything that its clients send. A token of the scaler for kube-apiserver would let an attacker who takes the
adapter over scale every workload. So an adapter receives one of these:

| credentials | what the adapter can do with them |
|---|---|
| a token of a ServiceAccount that may only read metrics, for this Service | nothing elsewhere |
| the same for kube-apiserver, which other adapters than Loadline's require | read metrics |
| a token of the scaler for this Service (`--adapter-token-file`) | nothing elsewhere |
| a client certificate | nothing: the scaler keeps its key |
"""

import time
from collections.abc import Callable
from typing import Final

import msgspec

from scaler.runtime.adapter_options import AdapterOptions
from wire.api import kube_json
from wire.api.status import StatusError, Unavailable
from wire.api.token_audiences import audiences_of
from wire.kube.cluster_access import AccessSource, ClusterAccess, ConnectionConfigError
from wire.kube.requests import Writer

EXPIRATION_SECONDS: Final = 3600
RENEWAL_RATIO: Final = 0.8
"""Of its time, after which a token is renewed, as the kubelet does."""


class GivenIdentity:
    """Implements `AccessSource`: the token file, or the client certificate of the scaler. The file is read again whenever the credentials are."""

    def __init__(self, own: AccessSource, options: AdapterOptions, *, audience: str) -> None:
        """`own`: the credentials of the scaler. `audience`: the only one that the token may have."""
        self._own = own
        self._token_file = options.token_file
        self._audience = audience

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        """Raises `ConnectionConfigError` if there is no token for the adapter, and no client certificate."""
        own = await self._own.read(refused=refused)
        token = self._token()
        if not token and own.client_certificate_file is None:
            raise ConnectionConfigError(
                "the scaler does not send its own token to an adapter, which could act as the scaler with it: set "
                "--adapter-token-service-account to a ServiceAccount that may only read metrics, as the scaler chart does"
            )
        return msgspec.structs.replace(own, authorization=f"Bearer {token}" if token else None)

    def _token(self) -> str:
        if self._token_file is None:
            return ""
        try:
            token = self._token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            cause = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ConnectionConfigError(
                f"cannot read --adapter-token-file {self._token_file}: {cause}"
            ) from error
        found = audiences_of(token)
        if found != {self._audience}:
            audiences = ", ".join(sorted(found)) or "no audience"
            raise ConnectionConfigError(
                f"the token in --adapter-token-file {self._token_file} is for {audiences}: it must be for "
                f"{self._audience} only, so that the adapter cannot use it elsewhere"
            )
        return token


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    expiration_seconds: float = 0.0


class _Status(msgspec.Struct, frozen=True):
    token: str


class _TokenRequest(msgspec.Struct, frozen=True):
    status: _Status
    spec: _Spec = _Spec()


class RequestedToken:
    """Implements `AccessSource`: tokens of a ServiceAccount, which kube-apiserver issues to the scaler."""

    def __init__(
        self,
        kube: Writer,
        account: tuple[str, str],
        *,
        audience: str,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`account`: namespace and name. `audience`: empty for kube-apiserver itself."""
        self._kube = kube
        self._namespace, self._name = account
        self._audience = audience
        self._monotonic = monotonic
        self._token = ""
        self._renewed_at_seconds = float("-inf")

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        """Raises `ConnectionConfigError` if kube-apiserver issues none. The one before stays valid for some minutes."""
        now_seconds = self._monotonic()
        if refused or now_seconds >= self._renewed_at_seconds:
            issued = await self._request()
            self._token = issued.status.token
            lifetime_seconds = issued.spec.expiration_seconds or EXPIRATION_SECONDS
            self._renewed_at_seconds = now_seconds + RENEWAL_RATIO * lifetime_seconds
        return ClusterAccess(server="", authorization=f"Bearer {self._token}")

    async def _request(self) -> _TokenRequest:
        spec: dict[str, object] = {"expirationSeconds": EXPIRATION_SECONDS}
        if self._audience:
            spec["audiences"] = [self._audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = f"/api/v1/namespaces/{self._namespace}/serviceaccounts/{self._name}/token"
        try:
            response = await self._kube.create(path, msgspec.json.encode(body))
            return kube_json.decode(response, _TokenRequest)
        except msgspec.DecodeError as error:
            cause = f"the response is not a TokenRequest: {error}"
        except (StatusError, Unavailable) as error:
            cause = error.message
        raise ConnectionConfigError(
            f"no token of the ServiceAccount {self._namespace}/{self._name}: {cause}. The scaler needs permission to create "
            "its serviceaccounts/token, which the scaler chart grants"
        )
