"""The client of Prometheus' HTTP API. The counterpart in prometheus-adapter is `pkg/client/api.go`.

Every failure is raised as `QueryFailed` with the query and the cause, and without secrets.
"""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from adapter import telemetry
from adapter.fetch import decode
from adapter.fetch.lanes import LaneGate
from adapter.model import (
    FOR_AUTOSCALER,
    Backend,
    BackendRef,
    Evaluation,
    Plan,
    ResultKind,
    Sample,
    Sending,
    Series,
)
from adapter.ports import QueryFailed
from adapter.promql.row_selection import Index, filled
from wire.prometheus.access import Credentials
from wire.prometheus.responses import Envelope, reports_missing_stores
from wire.prometheus.transport import NoAnswer, Transport

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_KINDS = {
    decode.Vector: ResultKind.VECTOR,
    decode.Scalar: ResultKind.SCALAR,
    decode.Matrix: ResultKind.MATRIX,
    decode.Text: ResultKind.STRING,
}


class PrometheusClient:
    """The client of one backend. Use and `close` it within one event loop."""

    def __init__(self, backend: Backend, credentials: Credentials) -> None:
        self.backend = backend
        self._gate = LaneGate(backend.concurrency_max)
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
        seconds = self.backend.timeout_seconds
        parameters = {"query": plan.query, "timeout": f"{int(seconds * 1000)}ms"}
        with telemetry.prometheus_request(self.backend.name, "query"):
            try:
                body = await self._body(
                    "/api/v1/query",
                    parameters,
                    seconds=seconds,
                    sending=sending,
                )
                evaluation = await _evaluation(body)
            except NoAnswer as error:
                raise self._failed(plan.query, error) from error
        return await _indexed(evaluation, plan)

    async def series(self, *, match: str, max_age_seconds: float) -> Sequence[Series]:
        """The distinct shapes of the series, read piece by piece."""
        reader = decode.SeriesReader(held_bytes_max=self.backend.answer_bytes_max)
        try:
            with telemetry.prometheus_request(self.backend.name, "series"):
                await self._transport.send(
                    "/api/v1/series",
                    _recent(match, max_age_seconds),
                    seconds=self.backend.discovery_timeout_seconds,
                    take=_json(reader.feed),
                    compressed=True,
                    turn=self._gate.slot(FOR_AUTOSCALER.lane),
                )
                answer = _json(lambda _: reader.finish())(b"")
                if answer.status != "success" or answer.data is None:
                    raise _refused(answer)
        except NoAnswer as error:
            raise self._failed(match, error) from error
        return reader.shapes

    async def label_sets(
        self, *, match: str, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        """Every series with all its labels."""

        seconds = self.backend.discovery_timeout_seconds
        parameters = _recent(match, max_age_seconds)
        with telemetry.prometheus_request(self.backend.name, "series"):
            try:
                body = await self._body("/api/v1/series", parameters, seconds=seconds)
                answer = _json(decode.decode_series)(body)
                if answer.status != "success" or answer.data is None:
                    raise _refused(answer)
            except NoAnswer as error:
                raise self._failed(match, error) from error
        return answer.data

    async def _body(
        self,
        path: str,
        parameters: dict[str, str],
        *,
        seconds: float,
        sending: Sending = FOR_AUTOSCALER,
    ) -> bytes:
        """A whole response."""
        return await self._transport.body(
            path,
            parameters,
            seconds=seconds,
            bytes_max=self.backend.answer_bytes_max,
            may_post=sending.may_post,
            turn=self._gate.slot(sending.lane),
        )

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
        self, *, match: str, backend: BackendRef, max_age_seconds: float
    ) -> Sequence[Series]:
        """From the named backend."""
        client = self._client(backend, match)
        return await client.series(match=match, max_age_seconds=max_age_seconds)

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
    """A response that cannot be decoded is a `NoAnswer`. DecodeError and UnicodeDecodeError are both a ValueError."""

    def decoded(body: bytes) -> Answer:
        try:
            return decoder(body)
        except ValueError as error:
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


async def _evaluation(body: bytes) -> Evaluation:
    """Decoded in slices, so that a large result does not block other requests."""
    rest, slices = decode.without_rows(body)
    answer = _json(decode.decode_query)(rest)
    if answer.status != "success" or answer.data is None:
        raise _refused(answer)
    samples: list[Sample] = []
    for rows in slices if isinstance(answer.data, decode.Vector) else ():
        samples += map(_sample, _json(decode.decode_rows)(rows))
        await asyncio.sleep(0)
    warnings = tuple(answer.warnings or ())
    return Evaluation(
        kind=_KINDS[type(answer.data)],
        samples=(*samples, *_samples(answer.data)),
        evaluated_at_seconds=time.time(),
        warnings=warnings + tuple(answer.infos or ()),
        partial=answer.is_partial or any(reports_missing_stores(text) for text in warnings),
    )


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
            return (Sample({}, float(value), at_seconds),)
    return ()


def _sample(row: decode.Row) -> Sample:
    if row.value is not None:
        return Sample(row.metric, float(row.value[1]), row.value[0])
    if row.histogram is None:
        raise NoAnswer("the response has a row without a value")
    # One row without a number must not fail the others; the rule's signal contract says what it means.
    return Sample(row.metric, math.nan, row.histogram[0], is_histogram=True)
