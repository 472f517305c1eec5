"""Reads the response to a query within the memory that results may take together.

What a piece takes is claimed before the next one is read: its JSON, and the rows that were decoded from it.
"""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec

from adapter.caches import MIB
from adapter.fetch import decode
from adapter.fetch.reading_budget import LABEL_BYTES, ROW_BYTES, UNDIVIDED_RATIO
from adapter.model import Cost, Evaluation, ResultKind, Sample
from wire.process.response_budget import Claim, ResponseTooLarge
from wire.prometheus.responses import Envelope, reports_missing_stores
from wire.prometheus.transport import NoAnswer, larger_than

Answer = TypeVar("Answer")

_KINDS: Final = {
    decode.Vector: ResultKind.VECTOR,
    decode.Scalar: ResultKind.SCALAR,
    decode.Matrix: ResultKind.MATRIX,
    decode.Text: ResultKind.STRING,
}


class ResultReading:
    """The response to a query while it is read. Each piece is decoded before the next one is read, and other requests get their turn."""

    def __init__(self, claim: Claim, bytes_max: int) -> None:
        """`bytes_max`: of the response as JSON."""
        self._claim = claim
        self._bytes_max = bytes_max
        self._reader = decode.QueryReader()
        self._feed = reading_json(self._reader.feed)
        self._samples: list[Sample] = []
        self._read_bytes = 0
        self._rows_bytes = 0
        self._undivided_bytes = 0
        self.has_waited_in_vain = False
        """Whether the time for the query has ended while other large results were being read."""

    async def take(self, piece: bytes) -> None:
        """The next bytes. Raises `NoAnswer`, also for a result that is too large."""
        self._read_bytes += len(piece)
        if self._read_bytes > self._bytes_max:
            raise larger_than(self._bytes_max)
        rows = self._feed(piece)
        if not rows:
            await self._grow(len(piece) + self._counted_undivided())
            return
        samples = [*map(_sample, rows)]
        await self._grow(len(piece) + self._counted(samples))
        self._samples += samples
        await asyncio.sleep(0)

    async def evaluation(self, *, sent_seconds: float, taken_seconds: float) -> Evaluation:
        """The result, when all of it was read. Raises `NoAnswer`. `sent_seconds`: when the request was sent, by the monotonic clock."""
        answer = reading_json(lambda _: self._reader.finish())(b"")
        if answer.status == "error" or answer.data is None:
            raise refused(answer)
        last = _samples(answer.data)
        first = next(iter(self._samples or last), None)
        last_bytes = self._counted(last)
        if not self._reader.undivided_bytes:
            await self._grow(last_bytes)
        warnings = tuple(answer.warnings or ())
        stats = answer.data.stats if isinstance(answer.data, decode.Vector) else msgspec.Raw()
        return Evaluation(
            kind=_KINDS[type(answer.data)],
            samples=(*self._samples, *last),
            evaluated_at_seconds=time.time(),
            warnings=warnings + tuple(answer.infos or ()),
            partial=bool(answer.is_partial)
            or any(reports_missing_stores(text) for text in warnings),
            cost=Cost(seconds=taken_seconds, samples=decode.samples_read(stats)),
            # Prometheus has read its clock before it evaluated.
            ahead_seconds=first.timestamp_seconds - sent_seconds if first is not None else 0.0,
            size_bytes=self._read_bytes + self._rows_bytes,
        )

    def _counted(self, samples: Sequence[Sample]) -> int:
        """What rows take, beside the texts in them."""
        labels = sum([len(each.labels) for each in samples])
        rows_bytes = ROW_BYTES * len(samples) + LABEL_BYTES * labels
        self._rows_bytes += rows_bytes
        return rows_bytes

    def _counted_undivided(self) -> int:
        """What more can only be decoded at the end."""
        more_bytes = self._reader.undivided_bytes - self._undivided_bytes
        if more_bytes <= 0:
            return 0
        self._undivided_bytes += more_bytes
        return UNDIVIDED_RATIO * more_bytes

    async def _grow(self, size_bytes: int) -> None:
        try:
            await self._claim.grow(size_bytes)
        except asyncio.CancelledError:
            self.has_waited_in_vain = True
            raise
        except ResponseTooLarge:
            # The rest is not read.
            raise self._too_large() from None

    def _too_large(self) -> NoAnswer:
        why = ""
        if self._reader.undivided_bytes:
            why = ", since it is not written as Prometheus writes a vector and can only be decoded as a whole"
        return NoAnswer(
            f"the result is too large: its first {self._read_bytes / MIB:.1f} MiB alone take more than "
            f"{self._claim.size_bytes_max // MIB} MiB of memory ({len(self._samples)} rows were read){why}. Aggregate in the "
            "query, or restrict it with matchers, so that it has fewer rows and labels",
            retryable=False,
        )


def reading_json(decoder: Callable[[bytes], Answer]) -> Callable[[bytes], Answer]:
    """A response that cannot be decoded is a `NoAnswer`, also one that is nested too deeply.

    DecodeError and UnicodeDecodeError are both a ValueError.
    """

    def decoded(body: bytes) -> Answer:
        try:
            return decoder(body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(f"the response is not Prometheus' JSON: {error}") from error

    return decoded


def refused(answer: Envelope) -> NoAnswer:
    """An error, or no data, in a 2xx response."""
    return NoAnswer(
        f"{answer.error_type or 'error'}: {answer.error or 'the response has no data'}", quotes=True
    )


def _samples(result: decode.Result) -> tuple[Sample, ...]:
    match result:
        case decode.Vector(result=rows):
            return tuple(map(_sample, rows or ()))
        case decode.Scalar(result=point):
            return (_sample(decode.Row(value=point)),)
    return ()


def _sample(row: decode.Row) -> Sample:
    value = row.value
    if value is not None:
        try:
            return Sample(row.metric or {}, float(value[1]), value[0])
        except ValueError as error:
            raise NoAnswer(f"the response is not Prometheus' JSON: {error}", quotes=True) from error
    if row.histogram is None:
        raise NoAnswer("the response has a row without a value")
    # One row without a number must not fail the others; the rule's signal contract says what it means.
    return Sample(row.metric or {}, math.nan, row.histogram[0], is_histogram=True)
