"""A load of GET requests from a separate process that checks every response.

`python -m benchmarks.instruments.load SPECIFICATION.json` connects and prints "ready". For each line on stdin, it sends requests for as long
as the specification says, and prints the `Outcome` in a line. Latency is counted from sending to the last byte.
"""

import asyncio
import itertools
import re
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import msgspec
import uvloop
from yarl import URL

from benchmarks.instruments.figures import percentile
from testbed.processes import dying_with_parent
from testbed.programs import REPOSITORY

VALUE = re.compile(rb'"value":\s*"([^"]*)"')
READY = "ready"
KEPT_SECONDS = 75.0
"""An idle connection, as kube-apiserver keeps its own to the adapter."""


class ExpectedResponse(msgspec.Struct, frozen=True):
    """A request path and the sorted values that its response must have."""

    path: str
    values: tuple[str, ...]


class Specification(msgspec.Struct, frozen=True, kw_only=True):
    """The requests, credentials, connections and duration."""

    port: int
    certificate: str  # files
    key: str
    headers: dict[str, str]
    requests: tuple[ExpectedResponse, ...]  # cycled through, over all connections
    connections: int
    seconds: float
    once: bool = False  # each request once, as long as that takes


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a load."""

    requests: int
    wrong: int
    first_error: str  # of the first wrong response
    seconds: float
    p50_ms: float
    p99_ms: float
    cpu_seconds: float


class WrongResponses(Exception):
    """A response had the wrong values, so the measurement is void."""


def values_of(body: bytes) -> tuple[str, ...]:
    """The values in a response, sorted."""
    return tuple(sorted(value.decode() for value in VALUE.findall(body)))


@contextmanager
def prepared(specification: Specification, directory: Path) -> Iterator[Callable[[], Outcome]]:
    """A connected generator; each call runs the load once and returns its outcome. Raises WrongResponses."""
    path = directory / "load.json"
    path.write_bytes(msgspec.json.encode(specification))
    command = dying_with_parent([sys.executable, "-m", __name__, path])
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines, starts = process.stdout, process.stdin
        if process.stdout.readline().strip() != READY:
            raise WrongResponses(
                f"the load generator could not connect to port {specification.port}"
            )

        def generate() -> Outcome:
            starts.write("start\n")
            starts.flush()
            outcome = msgspec.json.decode(lines.readline(), type=Outcome)
            if outcome.wrong or not outcome.requests:
                raise WrongResponses(
                    f"{outcome.wrong} of {outcome.requests}: {outcome.first_error}"
                )
            return outcome

        try:
            yield generate
        finally:
            process.kill()


class Generator:
    """The load generator, inside its process."""

    def __init__(self, specification: Specification) -> None:
        self._specification = specification
        self._requests = itertools.cycle(
            [
                (URL(f"https://127.0.0.1:{specification.port}{q.path}", encoded=True), q.values)
                for q in specification.requests
            ]
        )
        self._left: int | None = None
        self._latencies_seconds: list[float] = []
        self._wrong: list[str] = []

    async def run(self) -> None:
        """Connect; for each line on stdin, run the load and print its outcome."""
        specification = self._specification
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.load_cert_chain(specification.certificate, specification.key)
        connector = aiohttp.TCPConnector(
            limit=specification.connections, ssl=tls, keepalive_timeout=KEPT_SECONDS
        )
        async with aiohttp.ClientSession(
            connector=connector, headers=specification.headers
        ) as session:
            await asyncio.gather(
                *(self._connect(session) for _ in range(specification.connections))
            )
            print(READY, flush=True)
            while await asyncio.to_thread(sys.stdin.readline):
                outcome = await self._measured(session)
                print(msgspec.json.encode(outcome).decode(), flush=True)

    async def _measured(self, session: aiohttp.ClientSession) -> Outcome:
        specification = self._specification
        self._latencies_seconds.clear()
        self._left = len(specification.requests) if specification.once else None
        began, cpu_began = time.perf_counter(), time.process_time()
        ends_at = began + specification.seconds
        await asyncio.gather(
            *(self._send_until(session, ends_at) for _ in range(specification.connections))
        )
        taken = sorted(self._latencies_seconds) or [0.0]
        return Outcome(
            requests=len(self._latencies_seconds),
            wrong=len(self._wrong),
            first_error=self._wrong[0] if self._wrong else "",
            seconds=time.perf_counter() - began,
            p50_ms=1000 * percentile(taken, 50),
            p99_ms=1000 * percentile(taken, 99),
            cpu_seconds=time.process_time() - cpu_began,
        )

    async def _send_until(self, session: aiohttp.ClientSession, ends_at: float) -> None:
        """Every request that was sent is awaited: otherwise it would cost time without being counted."""
        while self._left is None and time.perf_counter() < ends_at:
            await self._send(session)
        while self._left:
            self._left -= 1
            await self._send(session)

    async def _connect(self, session: aiohttp.ClientSession) -> None:
        async with session.get(f"https://127.0.0.1:{self._specification.port}/apis") as response:
            await response.read()

    async def _send(self, session: aiohttp.ClientSession) -> None:
        url, values = next(self._requests)
        sent = time.perf_counter()
        async with session.get(url) as response:
            body = await response.read()
        self._latencies_seconds.append(time.perf_counter() - sent)
        if response.status != 200 or values_of(body) != values:
            self._wrong.append(f"{response.status} {url} wants {values}, got {body[:500]!r}")


if __name__ == "__main__":
    specification = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Specification)
    uvloop.run(Generator(specification).run())
