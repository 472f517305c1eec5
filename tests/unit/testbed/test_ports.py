"""Reserved ports."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from testbed import ports

ROOT = Path(__file__).parents[3]


@pytest.fixture
def port():
    """A reserved port."""
    reserved = ports.reserve()
    yield reserved
    ports.release(reserved)


def test_a_port_can_be_listened_on(port):
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_no_port_is_reserved_twice():
    reserved = [ports.reserve() for _ in range(50)]
    try:
        assert len(set(reserved)) == 50
    finally:
        for port in reserved:
            ports.release(port)


def test_a_port_is_outside_the_ephemeral_range(port):
    lowest_outgoing = int(ports.EPHEMERAL_RANGE.read_text().split()[0])
    assert ports.LOWEST_PORT <= port < lowest_outgoing


def test_another_process_cannot_reserve_the_same_port(port):
    program = f"from testbed import ports; print(ports._hold({port}))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False\n"


def test_a_released_port_can_be_reserved_again(port):
    other = ports.reserve()
    ports.release(other)
    assert ports._hold(other)
    ports.release(other)


def test_a_port_in_use_is_not_reserved(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        in_use = taken.getsockname()[1]
        monkeypatch.setattr(ports, "LOWEST_PORT", in_use)
        monkeypatch.setattr(ports, "_highest_port", lambda: in_use + 1)
        with pytest.raises(OSError, match="no free loopback port"):
            ports.reserve()
