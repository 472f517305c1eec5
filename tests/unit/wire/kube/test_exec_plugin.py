"""The credential plugin runs when its credentials expire or are refused, as in client-go, and at no other time."""

import base64

import pytest

from wire.kube.exec_plugin import ExecPlugin

AT_NOON = "2026-01-01T12:00:00Z"
NOON_UNIX_SECONDS = 1767268800.0


class Plugin:
    """Prints its status; a token is numbered by how often it ran."""

    def __init__(self, **status: str) -> None:
        self.status, self.runs = status, 0
        self.now_unix_seconds = NOON_UNIX_SECONDS - 3600

    async def run(self) -> dict[str, str]:
        self.runs += 1
        return {"token": str(self.runs), **self.status}

    def credentials(self) -> ExecPlugin:
        return ExecPlugin(self.run, now=lambda: self.now_unix_seconds)


@pytest.mark.parametrize("status", [{}, {"expirationTimestamp": AT_NOON}])
async def test_it_runs_again_after_a_401_and_not_before(status):
    plugin = Plugin(**status)
    credentials = plugin.credentials()
    assert await credentials.credentials(refused=False) == {"token": "1"}
    plugin.now_unix_seconds += 600
    assert await credentials.credentials(refused=False) == {"token": "1"}
    assert await credentials.credentials(refused=True) == {"token": "2"}
    assert await credentials.credentials(refused=False) == {"token": "2"}


async def test_it_runs_again_before_its_token_expires():
    plugin = Plugin(expirationTimestamp=AT_NOON)
    credentials = plugin.credentials()
    await credentials.credentials(refused=False)
    plugin.now_unix_seconds = NOON_UNIX_SECONDS - 59
    assert await credentials.credentials(refused=False) == {"token": "2"}


async def test_it_may_return_a_certificate():
    plugin = Plugin(token="", clientCertificateData="cert", clientKeyData="key")
    fields = await plugin.credentials().credentials(refused=False)
    assert {name: base64.b64decode(each) for name, each in fields.items()} == {
        "client-certificate-data": b"cert",
        "client-key-data": b"key",
    }


@pytest.mark.parametrize("status", [{"token": ""}, {"clientCertificateData": "cert"}])
async def test_a_response_without_credentials_is_an_error(status):
    with pytest.raises(ValueError, match="neither a token nor a certificate with its key"):
        await Plugin(**status).credentials().credentials(refused=False)
