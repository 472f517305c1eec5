"""Range queries of Prometheus, for people's commands: in chunks, and whole days kept on disk."""

import asyncio
import hashlib
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import msgspec

from kubectl_loadline.recorded_series.files import Samples, summed
from kubectl_loadline.recorded_series.queries import Selected
from kubectl_loadline.terminal.output_files import writing
from kubectl_loadline.terminal.progress import Progress
from wire.prometheus.access import FileCredentials
from wire.prometheus.options import PrometheusOptions
from wire.prometheus.query_api import PrometheusQueries
from wire.prometheus.responses import reports_missing_stores
from wire.prometheus.scrape_interval import scrape_interval_query
from wire.prometheus.transport import NoAnswer, Transport

DAY_SECONDS: Final = 86400
# Prometheus refuses more per series.
POINTS_MAX: Final = 10_000
# Samples may still arrive late, from remote write for example.
SETTLED_SECONDS: Final = 3600
TIMEOUT_SECONDS: Final = 120.0
# A day of a thousand series.
RESPONSE_BYTES_MAX: Final = 256 * 2**20
SCRAPE_SECONDS: Final = 30.0
"""Where the series do not say it: between the 15 s of many installations and Prometheus' default of a minute."""
SCRAPE_SECONDS_MAX: Final = 60.0
"""The same where a longer interval does no harm, but a shorter one does."""
SCRAPE_STEP_MILLISECONDS: Final = 5_000

Answer = TypeVar("Answer")


class SeriesUnavailable(Exception):
    """Prometheus cannot be read, or has refused a query; the message says which one and why."""


class PrometheusServer(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach Prometheus. `name` identifies it in the cache, whatever the URL is; the headers may select a tenant."""

    url: str
    name: str
    headers: tuple[tuple[str, str], ...] = ()
    ca_file: Path | None = None


class TimeSpan(msgspec.Struct, frozen=True, kw_only=True):
    """The points of a range query: multiples of the step, from the start on; the end is not included."""

    start_unix_seconds: int
    end_unix_seconds: int
    step_seconds: int

    def chunks(self) -> Iterator["TimeSpan"]:
        """By day (UTC), and smaller where a day has too many points."""
        step = self.step_seconds
        start = -(-self.start_unix_seconds // step) * step
        while start < self.end_unix_seconds:
            of_day = (start // DAY_SECONDS + 1) * DAY_SECONDS
            end = min(of_day, start + POINTS_MAX * step, self.end_unix_seconds)
            end = -(-end // step) * step
            yield TimeSpan(start_unix_seconds=start, end_unix_seconds=end, step_seconds=step)
            start = end


class SeriesClient:
    """Reads series, one after the other. `cache` is the directory of the days that are kept, None for none.

    It waits for each of them, and has a thread with an event loop of its own, because the caller may have one.
    """

    def __init__(self, server: PrometheusServer, *, cache: Path | None) -> None:
        """Raises `ValueError` for a URL that is not one."""
        options = PrometheusOptions(url=server.url, headers=server.headers, ca_file=server.ca_file)
        transport = Transport(
            server.url,
            FileCredentials(options),
            user_agent="kubectl-loadline",
            headers=server.headers,
        )
        self._queries = PrometheusQueries(
            transport, seconds=TIMEOUT_SECONDS, bytes_max=RESPONSE_BYTES_MAX
        )
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._runner = asyncio.Runner()
        self._server = server
        self._cache = cache

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._queries.close())
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    def samples(self, name: str, query: Selected, span: TimeSpan, progress: Progress) -> Samples:
        """The sum of the series of a query that count. Raises `SeriesUnavailable`."""
        chunks = list(span.chunks())
        found: Samples = []
        for index, chunk in enumerate(chunks):
            progress(name, index, len(chunks))
            found += self._chunk(query, chunk)
        progress(name, len(chunks), len(chunks))
        return found

    def first_samples(
        self, name: str, alternatives: Sequence[Selected], span: TimeSpan, progress: Progress
    ) -> tuple[Selected, Samples] | None:
        """The first of these queries that has samples. Raises `SeriesUnavailable`."""
        for query in alternatives:
            if found := self.samples(name, query, span, progress):
                return query, found
        return None

    def value(self, promql: str, at_unix_seconds: float) -> float | None:
        """The value of an instant query with one row at most. Raises `SeriesUnavailable`."""
        rows = self._answered(self._queries.instant(promql, at_unix_seconds), promql)
        return float(rows[0].value[1]) if rows else None

    def names(self, matchers: str, span: TimeSpan) -> list[str]:
        """The names of the series that match. Raises `SeriesUnavailable`."""
        match = f"{{{matchers}}}"
        names = self._queries.label_values(
            "__name__",
            match=match,
            start=span.start_unix_seconds,
            end=span.end_unix_seconds,
        )
        return sorted(self._answered(names, match))

    def scrape_seconds(self, at_unix_seconds: float, selector: str = "up") -> float | None:
        """The usual time between two scrapes of some series, or else of all targets; None if neither is known.

        Raises `SeriesUnavailable`.
        """
        for each in dict.fromkeys((selector, "up")):
            query = scrape_interval_query(each, SCRAPE_STEP_MILLISECONDS)
            found = self.value(query, at_unix_seconds)
            if found:
                return found
        return None

    def _chunk(self, query: Selected, chunk: TimeSpan) -> Samples:
        kept = self._kept(query, chunk)
        if kept is not None and kept.is_file():
            return msgspec.msgpack.decode(kept.read_bytes(), type=Samples)
        promql = query.promql if query.where else f"sum({query.promql})"
        result = self._answered(
            self._queries.range(
                promql,
                start=chunk.start_unix_seconds,
                end=chunk.end_unix_seconds - chunk.step_seconds,
                step=chunk.step_seconds,
            ),
            promql,
        )
        found = summed([each.samples for each in result.series if query.counts(each.metric)])
        # The missing stores may respond next time.
        if kept is not None and not any(map(reports_missing_stores, result.warnings)):
            unfinished = kept.with_suffix(".unfinished")
            with writing(unfinished):
                unfinished.write_bytes(msgspec.msgpack.encode(found))
                unfinished.rename(kept)
        return found

    def _kept(self, query: Selected, chunk: TimeSpan) -> Path | None:
        """The file of a chunk that can no longer change."""
        if self._cache is None or chunk.end_unix_seconds > time.time() - SETTLED_SECONDS:
            return None
        key = msgspec.json.encode(
            (self._server.name, self._server.headers, query, chunk.step_seconds)
        )
        name = f"{chunk.start_unix_seconds}-{chunk.end_unix_seconds}.msgpack"
        return self._cache / hashlib.sha256(key).hexdigest()[:32] / name

    def _answered(self, request: Coroutine[Any, Any, Answer], promql: str) -> Answer:
        try:
            return self._run(request)
        except NoAnswer as error:
            raise SeriesUnavailable(f"Prometheus cannot answer {promql}: {error.cause}") from error

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        return self._thread.submit(self._runner.run, work).result()
