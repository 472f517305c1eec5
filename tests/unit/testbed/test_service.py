"""A Service in front of servers on loopback."""

import socket

from testbed import web
from testbed.exporter import Exporter
from testbed.service import Service
from testbed.waiting import until


def answered(service: Service) -> str | None:
    response = web.get(service.port, "/metrics")
    return None if response is None else response.text


def test_new_connections_go_to_the_servers_in_turn_until_one_is_removed():
    with Exporter() as first, Exporter() as second, Service() as service:
        first.set("number", 1)
        second.set("number", 2)
        service.add(first.port)
        service.add(second.port)
        assert {answered(service) for _ in range(4)} == {"number 1.0\n", "number 2.0\n"}
        service.remove(first.port)
        assert {answered(service) for _ in range(4)} == {"number 2.0\n"}


def test_a_connection_without_a_server_behind_it_is_closed():
    with Service() as service:
        assert answered(service) is None


def test_a_server_that_is_removed_keeps_its_connections():
    with Exporter() as only, Service() as service:
        service.add(only.port)
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(b"GET /metrics HTTP/1.0\r\n")
            until(lambda: service.connections == 1, what="a server for the connection")
            service.remove(only.port)
            connection.sendall(b"\r\n")
            assert connection.makefile("rb").readline().endswith(b"200 OK\r\n")
