"""The client of Prometheus' HTTP API. The counterpart in prometheus-adapter is `pkg/client/api.go`.

Every failure is raised as `QueryFailed` with the query and the cause, and without secrets.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeVar

import msgspec

from adapter import telemetry
from adapter.caches import MIB
from adapter.fetch import decode
from adapter.fetch.lanes import LaneGate
from adapter.fetch.reading_budget import ROW_BYTES, reading_budget
from adapter.model import (
    FOR_AUTOSCALER,
    Backend,
    BackendRef,
    Cost,
    Evaluation,
    Lane,
    Plan,
    ResultKind,
    Sample,
    Sending,
    Series,
)
from adapter.ports import QueryFailed, SeriesIncomplete
from adapter.promql.row_selection import Index, filled
from wire.process.response_budget import Claim, ResponseBudget, ResponseTooLarge
from wire.process.single_flight import JOINED_SECONDS
from wire.prometheus.access import Credentials
from wire.prometheus.responses import Envelope, reports_missing_stores
from wire.prometheus.transport import NoAnswer, Transport, larger_than

log = logging.getLogger(__name__)

LISTINGS_MAX: Final = 4
"""Lists of series at once. They read the index of Prometheus, and no query waits for one: each may take minutes."""
_DECODED_RATIO: Final = 8
"""How many times its JSON a response takes that is decoded as a whole, at most."""

_CROWDED: Final = NoAnswer(
    "its result is large, and the query timed out while other large results were read: aggregate in the queries"
)

Answer = TypeVar("Answer")

_KINDS = {
    decode.Vector: ResultKind.VECTOR,
    decode.Scalar: ResultKind.SCALAR,
    decode.Matrix: ResultKind.MATRIX,
    decode.Text: ResultKind.STRING,
}


class PrometheusClient:
    """The client of one backend. Use and `close` it within one event loop."""

    def __init__(
        self,
        backend: Backend,
        credentials: Credentials,
        budget: ResponseBudget | None = None,
        *,
        listings_max: int = LISTINGS_MAX,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`budget`: of all clients of the process; None: it is the only one. `listings_max`: how many listings there are at once."""
        self.backend = backend
        self.budget = budget or reading_budget()
        self._monotonic = monotonic
        # After that time, the next request does not join a query either: the server may be one that was replaced.
        self._gate = LaneGate(backend.concurrency_max, held_seconds=JOINED_SECONDS)
        self._listings = LaneGate(listings_max)
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
            result = _Result(claim, self.backend.answer_bytes_max)
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
                        evaluation = await result.evaluation(turn)
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
        reader = decode.SeriesReader(held_bytes_max=self.backend.answer_bytes_max)
        feed = _json(reader.feed)

        async def take(piece: bytes) -> None:
            feed(piece)

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
                    answer = _json(lambda _: reader.finish())(b"")
                    if answer.status != "success" or answer.data is None:
                        raise _refused(answer)
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
                answer = _json(decode.decode_series)(body)
                if answer.status != "success" or answer.data is None:
                    raise _refused(answer)
            except NoAnswer as error:
                raise self._failed(match, error) from error
        return answer.data

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


def _json(decoder: Callable[[bytes], Answer]) -> Callable[[bytes], Answer]:
    """A response that cannot be decoded is a `NoAnswer`, also one that is nested too deeply.

    DecodeError and UnicodeDecodeError are both a ValueError.
    """

    def decoded(body: bytes) -> Answer:
        try:
            return decoder(body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(f"the response is not Prometheus' JSON: {error}") from error

    return decoded


def _refused(answer: Envelope) -> NoAnswer:
    """An error, or no data, in a 2xx response."""
    return NoAnswer(
        f"{answer.error_type or 'error'}: {answer.error or 'the response has no data'}", quotes=True
    )


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
        self._began_at = 0.0
        self.seconds = 0.0

    async def __aenter__(self) -> None:
        await self._slot.__aenter__()
        self._began_at = self._monotonic()

    async def __aexit__(self, *raised: Any) -> bool | None:
        self.seconds = self._monotonic() - self._began_at
        return await self._slot.__aexit__(*raised)


class _Result:
    """The response to a query while it is read. Each piece is decoded before the next one is read, and other requests get their turn."""

    def __init__(self, claim: Claim, bytes_max: int) -> None:
        self._claim = claim
        self._bytes_max = bytes_max
        self._reader = decode.QueryReader()
        self._feed = _json(self._reader.feed)
        self._samples: list[Sample] = []
        self._read_bytes = 0
        self.has_waited_in_vain = False
        """Whether the time for the query has ended while other large results were being read."""

    async def take(self, piece: bytes) -> None:
        """The next bytes. Raises `NoAnswer`, also for a result that is too large."""
        self._read_bytes += len(piece)
        if self._read_bytes > self._bytes_max:
            raise larger_than(self._bytes_max)
        rows = self._feed(piece)
        ratio = _DECODED_RATIO if self._reader.is_undivided else 1
        await self._grow(ratio * len(piece) + ROW_BYTES * len(rows))
        if rows:
            self._samples += map(_sample, rows)
            await asyncio.sleep(0)

    async def evaluation(self, turn: _TimedTurn) -> Evaluation:
        """The result, when all of it was read. Raises `NoAnswer`. `turn`: that of the request."""
        answer = _json(lambda _: self._reader.finish())(b"")
        if answer.status != "success" or answer.data is None:
            raise _refused(answer)
        last = _samples(answer.data)
        first = next(iter(self._samples or last), None)
        if not self._reader.is_undivided:
            await self._grow(ROW_BYTES * len(last))
        warnings = tuple(answer.warnings or ())
        stats = answer.data.stats if isinstance(answer.data, decode.Vector) else msgspec.Raw()
        return Evaluation(
            kind=_KINDS[type(answer.data)],
            samples=(*self._samples, *last),
            evaluated_at_seconds=time.time(),
            warnings=warnings + tuple(answer.infos or ()),
            partial=answer.is_partial or any(reports_missing_stores(text) for text in warnings),
            cost=Cost(seconds=turn.seconds, samples=decode.samples_read(stats)),
            clock_seconds=first.timestamp_seconds if first is not None else None,
        )

    async def _grow(self, size_bytes: int) -> None:
        try:
            await self._claim.grow(size_bytes)
        except asyncio.CancelledError:
            self.has_waited_in_vain = True
            raise
        except ResponseTooLarge:
            # The rest is not read.
            raise NoAnswer(
                f"the result is too large: its first {self._read_bytes / MIB:.1f} MiB alone take more than "
                f"{self._claim.size_bytes_max // MIB} MiB of memory ({len(self._samples)} rows were read). Aggregate in the "
                "query, or restrict it with matchers, so that it has fewer rows and labels",
                retryable=False,
            ) from None


async def _indexed(evaluation: Evaluation, plan: Plan) -> Evaluation:
    """Indexed by the labels of the plan, in slices, so that a large result does not block other requests."""
    if not plan.key_labels:
        return evaluation
    by_key: Index = {}
    for _ in filled(by_key, evaluation, plan.key_labels):
        await asyncio.sleep(0)
    return msgspec.structs.replace(evaluation, by_key=by_key)


def _samples(result: decode.Result) -> tuple[Sample, ...]:
    match result:
        case decode.Vector(result=rows):
            return tuple(_sample(row) for row in rows or ())
        case decode.Scalar(result=(at_seconds, value)):
            return (Sample({}, _number(value), at_seconds),)
    return ()


def _sample(row: decode.Row) -> Sample:
    if row.value is not None:
        return Sample(row.metric, _number(row.value[1]), row.value[0])
    if row.histogram is None:
        raise NoAnswer("the response has a row without a value")
    # One row without a number must not fail the others; the rule's signal contract says what it means.
    return Sample(row.metric, math.nan, row.histogram[0], is_histogram=True)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise NoAnswer(f"the response is not Prometheus' JSON: {error}", quotes=True) from error
