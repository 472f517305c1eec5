"""What the kernel does about a server that has vanished without closing the connection, for example behind a load balancer."""

import socket

import pytest

from wire.kube.client import _keepalive_socket


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has this option")
def test_what_a_server_does_not_acknowledge_for_30_seconds_ends_its_connection():
    """Otherwise requests wait for 65 s on each connection of the pool, and the kernel sends the same for 15 minutes."""
    address = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 0))
    with _keepalive_socket(address) as opened:
        assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 30_000
        assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
