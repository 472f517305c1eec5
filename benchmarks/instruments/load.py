"""A bounded load of GET requests from a process of its own, every answer checked.

`python -m benchmarks.instruments.load SPECIFICATION.json` connects, says "ready", waits for a line, asks for as long
as the specification says, and prints its `Outcome`. Latency is counted from sending to the last byte.
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


class ExpectedResponse(msgspec.Struct, frozen=True):
    """A question and the values that its answer must have, sorted."""

    path: str
    values: tuple[str, ...]


class Specification(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to ask what, as whom, and how hard."""

    port: int
    certificate: str  # files
    key: str
    headers: dict[str, str]
    requests: tuple[ExpectedResponse, ...]  # in turn, over all connections
    connections: int
    seconds: float


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    requests: int
    wrong: int
    an_error: str  # of the first wrong one
    seconds: float
    p50_ms: float
    p99_ms: float
    cpu_seconds: float


class WrongAnswers(Exception):
    """A program that answers wrongly is not measured."""


def values_of(body: bytes) -> tuple[str, ...]:
    """The values in an answer, sorted."""
    return tuple(sorted(value.decode() for value in VALUE.findall(body)))


@contextmanager
def prepared(specification: Specification, directory: Path) -> Iterator[Callable[[], Outcome]]:
    """A connected generator; the call makes it ask and returns when it has ended. Raises WrongAnswers."""
    path = directory / "load.json"
    path.write_bytes(msgspec.json.encode(specification))
    command = dying_with_parent([sys.executable, "-m", __name__, path])
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READY:
            raise WrongAnswers(f"the load generator could not begin with port {specification.port}")

        def go() -> Outcome:
            said, _ = process.communicate("go\n")
            outcome = msgspec.json.decode(said, type=Outcome)
            if outcome.wrong or not outcome.requests:
                raise WrongAnswers(f"{outcome.wrong} of {outcome.requests}: {outcome.an_error}")
            return outcome

        try:
            yield go
        finally:
            process.kill()


class Generator:
    """The load, inside its process."""

    def __init__(self, specification: Specification) -> None:
        self._specification = specification
        self._questions = itertools.cycle(
            [
                (URL(f"https://127.0.0.1:{specification.port}{q.path}", encoded=True), q.values)
                for q in specification.requests
            ]
        )
        self._latencies_seconds: list[float] = []
        self._wrong: list[str] = []

    async def run(self) -> Outcome:
        """Connect, wait for the word, ask."""
        asked = self._specification
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        tls.load_cert_chain(asked.certificate, asked.key)
        connector = aiohttp.TCPConnector(limit=asked.connections, ssl=tls)
        async with aiohttp.ClientSession(connector=connector, headers=asked.headers) as session:
            await asyncio.gather(*(self._ask(session) for _ in range(asked.connections)))
            self._latencies_seconds.clear()
            print(READY, flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            return await self._measured(session)

    async def _measured(self, session: aiohttp.ClientSession) -> Outcome:
        asked = self._specification
        began, cpu_began = time.perf_counter(), time.process_time()
        ends_at = began + asked.seconds
        await asyncio.gather(
            *(self._keep_asking(session, ends_at) for _ in range(asked.connections))
        )
        taken = sorted(self._latencies_seconds) or [0.0]
        return Outcome(
            requests=len(self._latencies_seconds),
            wrong=len(self._wrong),
            an_error=self._wrong[0] if self._wrong else "",
            seconds=time.perf_counter() - began,
            p50_ms=1000 * percentile(taken, 50),
            p99_ms=1000 * percentile(taken, 99),
            cpu_seconds=time.process_time() - cpu_began,
        )

    async def _keep_asking(self, session: aiohttp.ClientSession, ends_at: float) -> None:
        """What has been sent is awaited, or it would have cost something and not been counted."""
        while time.perf_counter() < ends_at:
            await self._ask(session)

    async def _ask(self, session: aiohttp.ClientSession) -> None:
        url, values = next(self._questions)
        sent = time.perf_counter()
        async with session.get(url) as response:
            body = await response.read()
        self._latencies_seconds.append(time.perf_counter() - sent)
        if response.status != 200 or values_of(body) != values:
            self._wrong.append(f"{response.status} {url} wants {values}, got {body[:500]!r}")


if __name__ == "__main__":
    given = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Specification)
    print(msgspec.json.encode(uvloop.run(Generator(given).run())).decode())
