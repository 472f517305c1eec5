"""What users read of a failed connection."""

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

from wire.process.connection_errors import in_words

KEY = ConnectionKey("api", 443, True, True, None, None, None)
PROXY = aiohttp.RequestInfo(URL("http://me:secret@proxy:3128"), "CONNECT", {}, URL("http://x"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(
            aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(111, "Connect call failed")),
            "Connection refused",
            id="refused",
        ),
        pytest.param(
            aiohttp.ClientConnectorDNSError(KEY, OSError(None, "Name or service not known")),
            "Name or service not known",
            id="no such host",
        ),
        pytest.param(
            aiohttp.ClientConnectorCertificateError(KEY, ValueError("self-signed certificate")),  # type: ignore[arg-type]
            "its certificate is not trusted: self-signed certificate",
            id="certificate",
        ),
        pytest.param(
            aiohttp.ClientHttpProxyError(PROXY, (), status=407, message="who are you?"),
            "the proxy responded with HTTP 407 who are you?",
            id="a proxy, without its password",
        ),
    ],
)
def test_the_text_of_an_error_is_its_cause(error, words):
    assert in_words(error) == words
