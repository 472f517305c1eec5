"""Which proxy requests to a server are sent through: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` as Go's programs read them.

The rules are those of golang.org/x/net v0.58.0, http/httpproxy/proxy.go, which client-go uses through net/http. Names with
other letters than those of ASCII are compared as they are written.
"""

import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

SUPPORTED: Final = ("http", "https")
_WITH_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://.")
_PORTS: Final = {"http": "80", "https": "443"}

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def proxy_of_environment(server: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """The URL of the proxy for a server; None for a direct connection. Raises ValueError for one that cannot be used."""
    address = urlsplit(server)
    host, scheme = address.hostname or "", address.scheme
    name = f"{scheme}_proxy"
    proxy = _variable(environ, name)
    if scheme not in _PORTS or not proxy:
        return None
    port = str(address.port or _PORTS[scheme])
    if _is_direct(host, port, _variable(environ, "no_proxy")):
        return None
    return usable_proxy(proxy if _WITH_SCHEME.match(proxy) else f"http://{proxy}", name.upper())


def usable_proxy(proxy: str, where: str) -> str:
    """The URL of a proxy, if requests can be sent through it. Raises ValueError; `where` says what to correct."""
    try:
        parts = urlsplit(proxy)
        # Reading the port checks it.
        scheme, host, _ = parts.scheme, parts.hostname, parts.port
    except ValueError:
        scheme, host = "", None
    if scheme in SUPPORTED and host:
        return proxy
    # Without the rest of it, which may have a password.
    shown = (
        f"a URL with {scheme}://" if host and scheme not in SUPPORTED else "not the URL of a proxy"
    )
    raise ValueError(f"{where} is {shown}: a proxy with http:// or https:// is supported")


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _is_direct(host: str, port: str, no_proxy: str) -> bool:
    """Whether no proxy is used for a host (Go's useProxy)."""
    ip = _ip(host)
    if host == "localhost" or (ip is not None and ip.is_loopback):
        return True
    entries = [each.strip().lower() for each in no_proxy.split(",")]
    if "*" in entries:
        return True
    if ip is not None:
        return any(_names_ip(each, ip, port) for each in entries)
    return any(_names_host(each, host, port) for each in entries)


def _names_ip(entry: str, ip: _Address, port: str) -> bool:
    _, slash, bits = entry.partition("/")
    if slash:
        try:
            # Go has no netmasks here.
            return bits.isdecimal() and ip in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    named, of_port = _split(entry)
    return _ip(named) == ip and of_port in ("", port)


def _names_host(entry: str, host: str, port: str) -> bool:
    named, of_port = _split(entry)
    if not named or _ip(named) is not None:
        return False
    domain = named.removeprefix("*") if named.startswith("*.") else named
    is_named = host.endswith(domain if domain.startswith(".") else f".{domain}") or host == domain
    return is_named and of_port in ("", port)


def _split(entry: str) -> tuple[str, str]:
    """Host and port of an entry (net.SplitHostPort); all of it is the host if it has no port."""
    host, colon, port = entry.rpartition(":")
    if not colon or (":" in host and not (host.startswith("[") and host.endswith("]"))):
        return entry, ""
    return host.strip("[]") if host.startswith("[") else host, port


def _ip(text: str) -> _Address | None:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    # In Go both notations of an IPv4 address are equal.
    return (ip.ipv4_mapped or ip) if isinstance(ip, ipaddress.IPv6Address) else ip
