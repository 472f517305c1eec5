"""Loopback ports that nothing else takes between being chosen and being listened on.

The kernel's "any free port" may be given to an outgoing connection a moment later. These come from below the
range of such connections, and each is held by a file lock for as long as this process lives, so that two
testbeds on one machine never choose the same.
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
    """A port on 127.0.0.1 that is ours until `release`, or until this process ends."""
    ours = range(LOWEST_PORT, _highest_port())
    candidates = random.SystemRandom().sample(ours, k=min(500, len(ours)))
    for port in candidates:
        if port not in _held and _hold(port):
            if _is_free(port):
                return port
            release(port)
    raise OSError(f"no free loopback port among {len(candidates)} tried from {LOWEST_PORT} upwards")


def release(port: int) -> None:
    """Let others have it."""
    descriptor = _held.pop(port, None)
    if descriptor is not None:
        os.close(descriptor)
