"""The client of Prometheus' HTTP API. The counterpart in prometheus-adapter is `pkg/client/api.go`.

Every failure is raised as `QueryFailed` with the query and the cause, and without secrets.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec

from adapter import telemetry
from adapter.caches import MIB
from adapter.fetch import decode
from adapter.fetch.lanes import LaneGate
from adapter.fetch.reading_budget import SERIES_BYTES_MAX, reading_budget
from adapter.fetch.result_reading import ResultReading, reading_json, refused
from adapter.model import (
    FOR_AUTOSCALER,
    Backend,
    BackendRef,
    Evaluation,
    Lane,
    Plan,
    Sending,
    Series,
)
from adapter.ports import QueryFailed, SeriesIncomplete
from adapter.promql.row_selection import Index, filled
from wire.process.response_budget import ResponseBudget
from wire.process.single_flight import JOINED_SECONDS
from wire.prometheus.access import Credentials
from wire.prometheus.responses import reports_missing_stores
from wire.prometheus.transport import NoAnswer, Transport

log = logging.getLogger(__name__)

LISTINGS_MAX: Final = 4
"""Lists of series at once. They read the index of Prometheus, and no query waits for one: each may take minutes."""

_CROWDED: Final = NoAnswer(
    "its result is large, and the query timed out while other large results were read: aggregate in the queries"
)


def _too_many_series(bytes_max: int) -> NoAnswer:
    return NoAnswer(
        f"its series have so many distinct names, or sets of label names, that they take more than {bytes_max // MIB} MiB of "
        "memory: restrict the seriesQuery with matchers",
        retryable=False,
    )


class PrometheusClient:
    """The client of one backend. Use and `close` it within one event loop."""

    def __init__(
        self,
        backend: Backend,
        credentials: Credentials,
        budget: ResponseBudget | None = None,
        *,
        listings_max: int = LISTINGS_MAX,
        series_bytes_max: int = SERIES_BYTES_MAX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`budget`: of all clients of the process; None: it is the only one. `listings_max`: how many listings there are at once.

        `series_bytes_max`: the memory that the distinct series of a listing may take.
        """
        self.backend = backend
        self.budget = budget or reading_budget()
        self._monotonic = monotonic
        # After that time, the next request does not join a query either: the server may be one that was replaced.
        self._gate = LaneGate(backend.concurrency_max, held_seconds=JOINED_SECONDS)
        self._listings = LaneGate(listings_max)
        self._series_bytes_max = series_bytes_max
        self._transport = Transport(
            backend.url,
            credentials,
            user_agent="loadline-adapter",
            headers=backend.headers,
            verb=backend.verb,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        """Evaluate the plan's query at Prometheus' current time, which is independent of this machine's clock."""
        log.debug("%s: %s", self.backend.name, plan.query)
        seconds = min(self.backend.timeout_seconds, sending.seconds_max)
        parameters = {"query": plan.query, "timeout": f"{int(seconds * 1000)}ms"}
        if sending.counts_samples:
            parameters["stats"] = "all"
        ends_at = asyncio.get_running_loop().time() + seconds
        turn = _TimedTurn(self._gate.slot(sending.lane), self._monotonic)
        with self.budget.claim() as claim:
            result = ResultReading(claim, self.backend.answer_bytes_max)
            with telemetry.prometheus_request(self.backend.name, "query"):
                try:
                    await self._transport.send(
                        "/api/v1/query",
                        parameters,
                        seconds=seconds,
                        take=result.take,
                        may_post=sending.may_post,
                        turn=turn,
                    )
                    async with asyncio.timeout_at(ends_at):
                        evaluation = await result.evaluation(
                            sent_seconds=turn.began_seconds, taken_seconds=turn.seconds
                        )
                except TimeoutError as error:
                    raise self._failed(plan.query, _CROWDED) from error
                except NoAnswer as error:
                    reason = _CROWDED if result.has_waited_in_vain else error
                    raise self._failed(plan.query, reason) from error
            return await _indexed(evaluation, plan)

    async def series(
        self, *, match: str, max_age_seconds: float, lane: Lane = Lane.AUTOSCALER
    ) -> Sequence[Series]:
        """The distinct shapes of the series, read piece by piece. Raises `SeriesIncomplete`, too."""
        reader = decode.SeriesReader()
        feed = reading_json(reader.feed)

        async def take(piece: bytes) -> None:
            feed(piece)
            if reader.size_bytes > self._series_bytes_max:
                raise _too_many_series(self._series_bytes_max)

        try:
            # The wait is not a part of the timeout: with many rules, the last one would never be listed.
            async with self._listings.slot(lane):
                with telemetry.prometheus_request(self.backend.name, "series"):
                    await self._transport.send(
                        "/api/v1/series",
                        _recent(match, max_age_seconds),
                        seconds=self.backend.discovery_timeout_seconds,
                        take=take,
                        compressed=True,
                    )
                    answer = reading_json(lambda _: reader.finish())(b"")
                    if not answer.has_data:
                        raise refused(answer)
        except NoAnswer as error:
            raise self._failed(match, error) from error
        missing = [text for text in answer.warnings or () if reports_missing_stores(text)]
        if missing or answer.is_partial:
            why = "; ".join(missing) or "some storage nodes did not answer"
            raise SeriesIncomplete(
                backend=self.backend.name, match=match, why=why, series=reader.shapes
            )
        return reader.shapes

    async def label_sets(
        self, *, match: str, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        """Every series with all its labels."""
        with telemetry.prometheus_request(self.backend.name, "series"):
            try:
                body = await self._transport.body(
                    "/api/v1/series",
                    _recent(match, max_age_seconds),
                    seconds=self.backend.discovery_timeout_seconds,
                    bytes_max=self.backend.answer_bytes_max,
                    turn=self._listings.slot(Lane.COMMAND),
                )
                answer = reading_json(decode.decode_series)(body)
                if not answer.has_data:
                    raise refused(answer)
            except NoAnswer as error:
                raise self._failed(match, error) from error
        return answer.data or []

    def _failed(self, query: str, error: NoAnswer) -> QueryFailed:
        return QueryFailed(
            backend=self.backend.name,
            query=query,
            cause=error.cause,
            retryable=error.retryable,
            quotes=error.quotes,
        )


class Backends:
    """Several backends as one `ports.Prometheus`: each request goes to the one it names."""

    def __init__(self, clients: Mapping[BackendRef, PrometheusClient]) -> None:
        self._clients = dict(clients)

    def add(self, clients: Mapping[BackendRef, PrometheusClient]) -> None:
        """Send requests to these too, or in place of those they replace."""
        self._clients.update(clients)

    def remove(self, client: PrometheusClient) -> None:
        """Send it no more requests; the caller closes it."""
        for ref in [each for each, known in self._clients.items() if known is client]:
            del self._clients[ref]

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        """On the plan's backend."""
        return await self._client(plan.backend, plan.query).evaluate(plan, sending)

    async def series(
        self,
        *,
        match: str,
        backend: BackendRef,
        max_age_seconds: float,
        lane: Lane = Lane.AUTOSCALER,
    ) -> Sequence[Series]:
        """From the named backend."""
        client = self._client(backend, match)
        return await client.series(match=match, max_age_seconds=max_age_seconds, lane=lane)

    async def label_sets(
        self, *, match: str, backend: BackendRef, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        """From the named backend."""
        client = self._client(backend, match)
        return await client.label_sets(match=match, max_age_seconds=max_age_seconds)

    async def close(self) -> None:
        """Close every backend's connections."""
        for client in self._clients.values():
            await client.close()

    def _client(self, backend: BackendRef, query: str) -> PrometheusClient:
        try:
            return self._clients[backend]
        except KeyError:
            raise QueryFailed(
                backend=backend.name,
                query=query,
                cause="no backend has that name",
                retryable=False,
            ) from None


def _recent(match: str, max_age_seconds: float) -> dict[str, str]:
    # No `end`, as in prometheus-adapter: up to Prometheus' current time.
    return {"match[]": match, "start": f"{time.time() - max_age_seconds:.3f}"}


class _TimedTurn(AbstractAsyncContextManager[None]):
    """A slot of the gate, and for how long it was used: the time of a query without its wait for the slot."""

    def __init__(
        self, slot: AbstractAsyncContextManager[None], monotonic: Callable[[], float]
    ) -> None:
        self._slot = slot
        self._monotonic = monotonic
        self.began_seconds = 0.0
        self.seconds = 0.0

    async def __aenter__(self) -> None:
        await self._slot.__aenter__()
        self.began_seconds = self._monotonic()

    async def __aexit__(self, *raised: Any) -> bool | None:
        self.seconds = self._monotonic() - self.began_seconds
        return await self._slot.__aexit__(*raised)


async def _indexed(evaluation: Evaluation, plan: Plan) -> Evaluation:
    """Indexed by the labels of the plan, in slices, so that a large result does not block other requests."""
    if not plan.key_labels:
        return evaluation
    by_key: Index = {}
    for _ in filled(by_key, evaluation, plan.key_labels):
        await asyncio.sleep(0)
    return msgspec.structs.replace(evaluation, by_key=by_key)
