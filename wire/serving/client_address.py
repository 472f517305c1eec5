"""The address of a client, the same whether the socket is one of IPv4 or of both families."""

from typing import Final

from aiohttp import web

# RFC 4291, section 2.5.5.2: how a socket of both families shows an IPv4 client.
IPV4_MAPPED: Final = "::ffff:"


def client_address(request: web.BaseRequest) -> str:
    """The IP address that a request comes from; empty if there is none."""
    return without_mapping(request.remote or "")


def without_mapping(address: str) -> str:
    """`::ffff:10.0.0.1` as `10.0.0.1`, and any other address as it is. Go's net.IP prints it the same way."""
    inner = address.removeprefix(IPV4_MAPPED)
    return inner if "." in inner and ":" not in inner else address
