"""Queries of Prometheus whose whole result is wanted at once: of a range, of an instant, and of the values of a label.

The adapter decodes the responses to its own queries in slices (`adapter.fetch.decode`).
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from wire.prometheus.responses import Envelope
from wire.prometheus.transport import NoAnswer, Transport

Point = tuple[float, str]
AnyResponse = TypeVar("AnyResponse", bound=Envelope)


class RangeSeries(msgspec.Struct, frozen=True):
    """The samples of one series by Unix time, without NaN and infinities."""

    metric: dict[str, str]
    samples: dict[float, float]


class InstantRow(msgspec.Struct, frozen=True):
    """One row of an instant vector."""

    metric: dict[str, str] = {}
    value: Point = (0.0, "NaN")


class _Range(msgspec.Struct, frozen=True):
    metric: dict[str, str] = {}
    values: tuple[Point, ...] = ()


class _Matrix(msgspec.Struct, frozen=True):
    result: tuple[_Range, ...] = ()


class _Vector(msgspec.Struct, frozen=True):
    result: tuple[InstantRow, ...] = ()


class _RangeResponse(Envelope, kw_only=True):
    data: _Matrix | None = None


class _InstantResponse(Envelope, kw_only=True):
    data: _Vector | None = None


class _LabelsResponse(Envelope, kw_only=True):
    data: tuple[str, ...] | None = None


class RangeResult(msgspec.Struct, frozen=True):
    """All series, and what the server warns of."""

    series: tuple[RangeSeries, ...]
    warnings: tuple[str, ...] = ()


class PrometheusQueries:
    """One Prometheus. Every method raises `NoAnswer`."""

    def __init__(self, transport: Transport, *, seconds: float, bytes_max: int) -> None:
        """`seconds`: for one query, also as Prometheus' own limit. `bytes_max`: of one response."""
        self._transport = transport
        self._seconds: Final = seconds
        self._bytes_max: Final = bytes_max

    async def range(self, promql: str, *, start: float, end: float, step: float) -> RangeResult:
        """The samples at `start`, and every `step` seconds after it until `end`. Times in Unix seconds."""
        parameters = {
            "query": promql,
            "start": f"{start:.3f}".removesuffix(".000"),
            "end": f"{end:.3f}".removesuffix(".000"),
            "step": f"{step:g}",
            "timeout": f"{self._seconds:g}s",
        }
        found = await self._read("/api/v1/query_range", parameters, _RangeResponse)
        result = found.data.result if found.data is not None else ()
        try:
            series = tuple(RangeSeries(each.metric, numbers(each.values)) for each in result)
        except ValueError as error:
            raise NoAnswer(f"the response is not Prometheus' JSON: {error}") from error
        return RangeResult(series, tuple(found.warnings or ()))

    async def instant(self, promql: str, at_unix_seconds: float) -> tuple[InstantRow, ...]:
        """The rows of an instant vector."""
        parameters = {"query": promql, "time": f"{at_unix_seconds:.3f}"}
        found = await self._read("/api/v1/query", parameters, _InstantResponse)
        return found.data.result if found.data is not None else ()

    async def label_values(
        self, name: str, *, match: str, start: float, end: float
    ) -> tuple[str, ...]:
        """Of the series that match and have samples in this time."""
        parameters = {"match[]": match, "start": f"{start:.3f}", "end": f"{end:.3f}"}
        path = f"/api/v1/label/{name}/values"
        found = await self._read(path, parameters, _LabelsResponse, may_post=False)
        return found.data or ()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def _read(
        self,
        path: str,
        parameters: Mapping[str, str],
        type_: type[AnyResponse],
        *,
        may_post: bool = True,
    ) -> AnyResponse:
        body = await self._transport.body(
            path,
            dict(parameters),
            seconds=self._seconds,
            bytes_max=self._bytes_max,
            may_post=may_post,
        )
        try:
            found = msgspec.json.decode(body, type=type_)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(f"the response is not Prometheus' JSON: {error}") from error
        if found.status != "success":
            raise NoAnswer(f"{found.error_type or 'error'}: {found.error or 'no data'}")
        return found


def numbers(values: Iterable[Point]) -> dict[float, float]:
    """The values of a series by time, without NaN and infinities. Raises `ValueError`."""
    found = ((float(at), float(text)) for at, text in values)
    return {at: value for at, value in found if math.isfinite(value)}
