"""The credential plugin of a user (`exec` in a kubeconfig), run as by client-go (plugin/pkg/client/auth/exec/exec.go)."""

import base64
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

Run = Callable[[], Awaitable[dict[str, Any]]]

RENEWED_BEFORE_SECONDS: Final = 60.0
"""Credentials are read again once a minute, so those that expire before the next time are renewed."""


class ExecPlugin:
    """What the plugin returned is used until it expires, or until the server refuses it."""

    def __init__(self, run: Run, *, now: Callable[[], float] = time.time) -> None:
        """`run` returns the status of the ExecCredential that the plugin prints."""
        self._run = run
        self._now = now
        self._credentials: dict[str, str] = {}
        self._expires_at_unix_seconds = float("-inf")

    async def credentials(self, *, refused: bool) -> dict[str, str]:
        """As fields of a user in a kubeconfig. `refused`: the server answered the last ones with 401.

        Raises whatever `run` raises, and ValueError for a response without credentials.
        """
        if refused or self._now() >= self._expires_at_unix_seconds - RENEWED_BEFORE_SECONDS:
            status = await self._run()
            self._credentials = _fields(status)
            self._expires_at_unix_seconds = _expiration(status)
        return self._credentials


def _fields(status: dict[str, Any]) -> dict[str, str]:
    fields = {}
    if token := status.get("token"):
        fields["token"] = str(token)
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    if certificate and key:
        fields["client-certificate-data"] = base64.b64encode(certificate.encode()).decode()
        fields["client-key-data"] = base64.b64encode(key.encode()).decode()
    if not fields or bool(certificate) != bool(key):
        raise ValueError("exec: the plugin returned neither a token nor a certificate with its key")
    return fields


def _expiration(status: dict[str, Any]) -> float:
    """Unix seconds; as in client-go, credentials without a time are used until they are refused."""
    text = status.get("expirationTimestamp")
    return datetime.fromisoformat(text).timestamp() if text else float("inf")
