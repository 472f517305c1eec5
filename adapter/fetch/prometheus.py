"""The serving path's only door to Prometheus: its HTTP API. The upstream counterpart is `pkg/client/api.go`.

Everything that goes wrong comes out as `QueryFailed` with the query and the cause, never with a secret.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from adapter import telemetry
from adapter.fetch import decode
from adapter.fetch.credentials import Credentials
from adapter.fetch.transport import NoAnswer, Transport
from adapter.model import Backend, Evaluation, Plan, ResultKind, Sample, Series
from adapter.ports import QueryFailed

log = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_KINDS = {
    decode.Vector: ResultKind.VECTOR,
    decode.Scalar: ResultKind.SCALAR,
    decode.Matrix: ResultKind.MATRIX,
    decode.Text: ResultKind.STRING,
}


class PrometheusClient:
    """One backend, as `ports.Prometheus`. Use and `close` it within one event loop."""

    def __init__(self, backend: Backend, credentials: Credentials) -> None:
        self.backend = backend
        self._transport = Transport(backend, credentials)

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def evaluate(self, plan: Plan) -> Evaluation:
        """Evaluate the plan's query at Prometheus' own now, which no skew of clocks can shift."""
        log.debug("%s: %s", plan.backend, plan.query)
        seconds = self.backend.timeout_seconds
        asked = {"query": plan.query, "timeout": f"{int(seconds * 1000)}ms"}

        def finish(body: bytes) -> Evaluation:
            return _evaluation(decode.decode_query(body))

        with telemetry.prometheus_request(plan.backend, "query"):
            return await self._whole("/api/v1/query", asked, plan.query, finish, seconds)

    async def series(self, *, match: str, backend: str, max_age_seconds: float) -> Sequence[Series]:
        """The distinct shapes of the series, read piece by piece."""
        reader = decode.SeriesReader(held_bytes_max=self.backend.answer_bytes_max)
        try:
            with telemetry.prometheus_request(backend, "series"):
                await self._transport.ask(
                    "/api/v1/series",
                    _lately(match, max_age_seconds),
                    seconds=self.backend.discovery_timeout_seconds,
                    take=_json(reader.feed),
                    compressed=True,
                )
                answer = _json(lambda _: reader.finish())(b"")
                if answer.status != "success" or answer.data is None:
                    raise _refused(answer)
        except NoAnswer as error:
            raise self._failed(match, error) from error
        return [Series(name, labels) for name, labels in reader.shapes]

    async def label_sets(
        self, *, match: str, backend: str, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        """Every series with all its labels."""

        def finish(body: bytes) -> Sequence[Mapping[str, str]]:
            answer = decode.decode_series(body)
            if answer.status != "success" or answer.data is None:
                raise _refused(answer)
            return answer.data

        seconds = self.backend.discovery_timeout_seconds
        with telemetry.prometheus_request(backend, "series"):
            return await self._whole(
                "/api/v1/series", _lately(match, max_age_seconds), match, finish, seconds
            )

    async def _whole(
        self,
        path: str,
        asked: dict[str, str],
        question: str,
        finish: Callable[[bytes], Answer],
        seconds: float,
    ) -> Answer:
        """An answer that is decoded when all of it is there."""
        body = bytearray()

        def take(piece: bytes) -> None:
            body.extend(piece)
            if len(body) > self.backend.answer_bytes_max:
                limit = self.backend.answer_bytes_max
                raise NoAnswer(
                    f"the answer is larger than {limit} bytes: aggregate in the query",
                    retryable=False,
                )

        try:
            await self._transport.ask(path, asked, seconds=seconds, take=take)
            return _json(finish)(bytes(body))
        except NoAnswer as error:
            raise self._failed(question, error) from error

    def _failed(self, question: str, error: NoAnswer) -> QueryFailed:
        return QueryFailed(
            backend=self.backend.name,
            query=question,
            cause=error.cause,
            retryable=error.retryable,
        )


class Backends:
    """Several backends as one `ports.Prometheus`: each question goes to the one it names."""

    def __init__(self, clients: Mapping[str, PrometheusClient]) -> None:
        self._clients = clients

    def replace(self, clients: Mapping[str, PrometheusClient]) -> Sequence[PrometheusClient]:
        """Send questions to these from now on; returns those no longer used, to be closed when they are done."""
        former, self._clients = self._clients, clients
        return [each for each in former.values() if each not in clients.values()]

    async def evaluate(self, plan: Plan) -> Evaluation:
        """Ask the plan's backend."""
        return await self._client(plan.backend, plan.query).evaluate(plan)

    async def series(self, *, match: str, backend: str, max_age_seconds: float) -> Sequence[Series]:
        """Ask the named backend."""
        client = self._client(backend, match)
        return await client.series(match=match, backend=backend, max_age_seconds=max_age_seconds)

    async def label_sets(
        self, *, match: str, backend: str, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        """From the named backend."""
        client = self._client(backend, match)
        return await client.label_sets(
            match=match, backend=backend, max_age_seconds=max_age_seconds
        )

    async def close(self) -> None:
        """Close every backend's connections."""
        for client in self._clients.values():
            await client.close()

    def _client(self, backend: str, question: str) -> PrometheusClient:
        try:
            return self._clients[backend]
        except KeyError:
            raise QueryFailed(
                backend=backend,
                query=question,
                cause="no backend of that name is configured",
                retryable=False,
            ) from None


def _json(decoder: Callable[[bytes], Answer]) -> Callable[[bytes], Answer]:
    """What cannot be decoded is no answer. msgspec's DecodeError and UnicodeDecodeError are both a ValueError."""

    def decoded(body: bytes) -> Answer:
        try:
            return decoder(body)
        except ValueError as error:
            raise NoAnswer(f"the answer is not Prometheus' JSON: {error}") from error

    return decoded


def _refused(answer: decode.Envelope) -> NoAnswer:
    """A refusal, or nothing at all, under a 2xx."""
    return NoAnswer(f"{answer.error_type or 'error'}: {answer.error or 'the answer holds nothing'}")


def _lately(match: str, max_age_seconds: float) -> dict[str, str]:
    # No `end`, as the peer: up to Prometheus' own now.
    return {"match[]": match, "start": f"{time.time() - max_age_seconds:.3f}"}


def _evaluation(answer: decode.QueryAnswer) -> Evaluation:
    if answer.status != "success" or answer.data is None:
        raise _refused(answer)
    result = answer.data
    warnings = tuple(answer.warnings or ())
    return Evaluation(
        kind=_KINDS[type(result)],
        samples=_samples(result),
        evaluated_at_seconds=time.time(),
        warnings=warnings + tuple(answer.infos or ()),
        partial=answer.is_partial or any(_tells_of_missing_stores(text) for text in warnings),
    )


def _tells_of_missing_stores(warning: str) -> bool:
    """Thanos answers what it has and says in a warning what it has not; PromQL's own remarks are something else."""
    return not warning.startswith("PromQL ")


def _samples(result: decode.Result) -> tuple[Sample, ...]:
    match result:
        case decode.Vector(result=rows):
            return tuple(_sample(row) for row in rows or ())
        case decode.Scalar(result=(at_seconds, value)):
            return (Sample({}, float(value), at_seconds),)
    return ()


def _sample(row: decode.Row) -> Sample:
    if row.value is None:
        raise NoAnswer(
            "the query answers native histograms, which are no numbers: use histogram_quantile()",
            retryable=False,
        )
    return Sample(row.metric, float(row.value[1]), row.value[0])
