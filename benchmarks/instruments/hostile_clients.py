"""Clients without valid credentials, in a process of their own.

`python -m benchmarks.instruments.hostile_clients SPECIFICATION.json` opens all connections at once, sends a request with a long, wrong
token on each, and does so again about a second later, or as soon as it has a response or is disconnected, if that takes longer.
It prints the `Attack` in a line.
"""

import asyncio
import contextlib
import random
import ssl
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import uvloop

from testbed.processes import dying_with_parent
from testbed.programs import REPOSITORY

PERIOD_SECONDS = (0.5, 1.5)
"""Between two requests of a client, at random: only the first ones are sent at the same time."""
ANSWER_SECONDS = 30.0
CLOSED = "closed"
"""Instead of a status code: the connection was not accepted, or ended before a response."""


class Hostility(msgspec.Struct, frozen=True, kw_only=True):
    """What to send, and for how long."""

    port: int
    addresses: tuple[str, ...]  # to connect from, in turns
    connections: int
    token_bytes: int
    seconds: float


class Attack(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: connections by the status code of their response."""

    outcomes: dict[str, int]
    seconds: float


@contextmanager
def attacking(hostility: Hostility, directory: Path) -> Iterator[Callable[[], Attack]]:
    """Attack meanwhile; the call waits for the end."""
    path = directory / "hostility.json"
    path.write_bytes(msgspec.json.encode(hostility))
    command = dying_with_parent([sys.executable, "-m", __name__, path])
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        lines = process.stdout
        try:
            yield lambda: msgspec.json.decode(lines.readline(), type=Attack)
        finally:
            process.kill()


class HostileClients:
    """The clients, inside their process."""

    def __init__(self, hostility: Hostility) -> None:
        self._hostility = hostility
        self._outcomes: Counter[str] = Counter()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE
        self._filling = b"a" * hostility.token_bytes + b"\r\n\r\n"

    async def run(self) -> Attack:
        """Attack until the time is over."""
        began = time.monotonic()
        ends_at = began + self._hostility.seconds
        await asyncio.gather(
            *(self._client(number, ends_at) for number in range(self._hostility.connections))
        )
        return Attack(outcomes=dict(self._outcomes), seconds=time.monotonic() - began)

    async def _client(self, number: int, ends_at: float) -> None:
        addresses = self._hostility.addresses
        attempt = 0
        chance = random.Random(number)  # noqa: S311 - the same in each run
        while (began := time.monotonic()) < ends_at:
            attempt += 1
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    outcome = await self._request(
                        addresses[number % len(addresses)], f"{number}.{attempt}."
                    )
            except (OSError, EOFError):
                outcome = CLOSED
            self._outcomes[outcome] += 1
            next_at = began + chance.uniform(*PERIOD_SECONDS)
            await asyncio.sleep(max(0.0, next_at - time.monotonic()))

    async def _request(self, address: str, token: str) -> str:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._hostility.port, ssl=self._tls, local_addr=(address, 0)
        )
        try:
            head = f"GET /metrics HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}"
            writer.write(head.encode() + self._filling)
            line = await reader.readline()
            return line.split(b" ")[1].decode() if line else CLOSED
        finally:
            with contextlib.suppress(OSError):
                writer.transport.abort()


if __name__ == "__main__":
    hostility = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Hostility)
    print(msgspec.json.encode(uvloop.run(HostileClients(hostility).run())).decode(), flush=True)
