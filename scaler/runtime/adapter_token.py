"""The identity that the adapter sees: the scaler's own, but without the token with which it could act as the scaler.

The adapter sees everything that its clients send. A token for kube-apiserver would let an attacker who takes the adapter over
scale every workload. So the scaler sends a token that is valid for this adapter only, or a client certificate, whose key it keeps.
"""

from pathlib import Path

import msgspec

from wire.api.token_audiences import audiences_of
from wire.kube.connection import AccessSource, ClusterAccess, ConnectionConfigError


class AdapterToken:
    """Implements `AccessSource`. The file is read again whenever the credentials are."""

    def __init__(self, own: AccessSource, token_file: Path | None, *, audience: str) -> None:
        """`own`: the credentials of the scaler. `audience`: the only one that the token may have."""
        self._own = own
        self._token_file = token_file
        self._audience = audience

    async def read(self) -> ClusterAccess:
        """Raises `ConnectionConfigError` if there is no token for the adapter, and no client certificate."""
        own = await self._own.read()
        token = self._token()
        if not token and own.client_certificate_file is None:
            raise ConnectionConfigError(
                "the scaler does not send its own token to the adapter, which could act as the scaler with it: set "
                f"--adapter-token-file to a file with a token for the audience {self._audience} (a volume with a "
                "serviceAccountToken, as in the scaler chart)"
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
