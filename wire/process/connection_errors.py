"""The errors of connections and requests in words, without the secrets and objects that the texts of aiohttp contain."""

import os
import ssl

import aiohttp


def in_words(error: Exception) -> str:
    """The operating system's message where there is one."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        # Its own text has the URL of the proxy, which may contain a password.
        return f"the proxy responded with HTTP {error.status} {error.message}".rstrip()
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"the proxy {error.host}:{error.port}: {in_words(error.os_error)}"
    if isinstance(error, aiohttp.ClientConnectorError):
        return in_words(error.os_error)
    if isinstance(error, ssl.SSLError) or not isinstance(error, OSError):
        return str(error) or type(error).__name__
    # asyncio puts its own text, with the address once more, in place of the system's message.
    message = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
    return message or str(error) or "cannot connect"
