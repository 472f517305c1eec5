"""Loopback ports that nothing else can take before the program that needs one listens on it.

The kernel may give a free port to an outgoing connection a moment later. These ports are below the ephemeral
range, and each is held by a file lock while this process runs, so two testbeds on one machine never choose the
same one.
"""

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path

LOWEST_PORT = 20_000
EPHEMERAL_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
DEFAULT_EPHEMERAL_START = 32_768  # Documentation/networking/ip-sysctl.rst

_held: dict[int, int] = {}


def _lock_directory() -> Path:
    directory = Path(tempfile.gettempdir()) / f"loadline-ports-{os.getuid()}"
    directory.mkdir(exist_ok=True)
    return directory


def _highest_port() -> int:
    try:
        start = int(EPHEMERAL_RANGE.read_text().split()[0])
    except OSError:
        start = DEFAULT_EPHEMERAL_START
    return start if start > LOWEST_PORT + 1_000 else 65_536


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _hold(port: int) -> bool:
    descriptor = os.open(_lock_directory() / str(port), os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    _held[port] = descriptor
    return True


def reserve() -> int:
    """A port on 127.0.0.1 that is reserved until `release` or the end of this process."""
    usable = range(LOWEST_PORT, _highest_port())
    candidates = random.SystemRandom().sample(usable, k=min(500, len(usable)))
    for port in candidates:
        if port not in _held and _hold(port):
            if _is_free(port):
                return port
            release(port)
    raise OSError(f"no free loopback port among {len(candidates)} tried from {LOWEST_PORT} upwards")


def release(port: int) -> None:
    """Give the port back."""
    descriptor = _held.pop(port, None)
    if descriptor is not None:
        os.close(descriptor)
