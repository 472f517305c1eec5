"""Range queries of Prometheus, without blocking: one sample per minute, a day per request, one request at a time."""

import math
import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp
import msgspec

from scaler.cluster.forecast.load_query import NoHistory
from scaler.cluster.prometheus_options import PrometheusOptions
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from wire.prometheus.access import Address, FileCredentials

TIMEOUT_SECONDS: Final = 60.0
# One series of a day takes 50 kB.
RESPONSE_BYTES_MAX: Final = 2**20
PIECE_BYTES: Final = 2**16
STEP_SECONDS: Final = 60


class _Series(msgspec.Struct, frozen=True):
    values: tuple[tuple[float, str], ...] = ()


class _Matrix(msgspec.Struct, frozen=True):
    result: tuple[_Series, ...] = ()


class _Response(msgspec.Struct, frozen=True):
    status: str = ""
    error: str = ""
    data: _Matrix = _Matrix()
    warnings: tuple[str, ...] | None = ()


class RangeQueries:
    """One Prometheus. Credentials are read again for every request, and never shown."""

    def __init__(self, options: PrometheusOptions) -> None:
        self._options = options
        self._address = Address.of(options.url)
        self._credentials = FileCredentials(options)

    async def by_minute(self, promql: str, first: int, last: int) -> dict[int, float]:
        """The value at the begin of each of these minutes (since 1970) that has one. Raises `NoHistory`.

        The query must have one series at most.
        """
        found: dict[int, float] = {}
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        async with aiohttp.ClientSession(
            timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            for start in range(first, last + 1, MINUTES_PER_DAY):
                end = min(start + MINUTES_PER_DAY - 1, last)
                found |= await self._day(session, promql, start, end)
        return found

    async def _day(
        self, session: aiohttp.ClientSession, promql: str, start: int, end: int
    ) -> Mapping[int, float]:
        form = {
            "query": promql,
            "start": str(start * STEP_SECONDS),
            "end": str(end * STEP_SECONDS),
            "step": str(STEP_SECONDS),
            "timeout": f"{TIMEOUT_SECONDS:g}s",
        }
        parameters = f"?{self._address.parameters}" if self._address.parameters else ""
        url = f"{self._address.base}/api/v1/query_range{parameters}"
        try:
            headers = [*self._options.headers, *(await self._credentials.headers()).items()]
            async with session.post(
                url, data=form, headers=headers, ssl=self._credentials.tls(), allow_redirects=False
            ) as response:
                status, body = response.status, await _limited(response)
        except TimeoutError as error:
            raise NoHistory(
                f"Prometheus at {self._address.base} did not respond within {TIMEOUT_SECONDS:g} s"
            ) from error
        except (aiohttp.ClientError, ssl.SSLError, OSError, ValueError) as error:
            raise NoHistory(
                f"Prometheus at {self._address.base} cannot be read: {_in_words(error)}"
            ) from error
        return self._values(status, body)

    def _values(self, status: int, body: bytes) -> dict[int, float]:
        try:
            response = msgspec.json.decode(body, type=_Response)
            pairs = [(at, float(text)) for each in response.data.result for at, text in each.values]
        except (msgspec.DecodeError, ValueError) as error:
            raise NoHistory(
                f"Prometheus at {self._address.base} responded with status {status}, and not with Prometheus' JSON"
            ) from error
        if response.status != "success":
            raise NoHistory(
                f"Prometheus at {self._address.base} responded with status {status}: {response.error}"
            )
        for warning in response.warnings or ():
            # Thanos says so what is missing. Those of PromQL itself are something else.
            if not warning.startswith("PromQL "):
                raise NoHistory(f"the recorded history is not complete: {warning}")
        return {round(at / STEP_SECONDS): value for at, value in pairs if math.isfinite(value)}


async def _limited(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for piece in response.content.iter_chunked(PIECE_BYTES):
        body.extend(piece)
        if len(body) > RESPONSE_BYTES_MAX:
            raise ValueError(f"the response is larger than {RESPONSE_BYTES_MAX} bytes")
    return bytes(body)


def _in_words(error: Exception) -> str:
    """Never the URL, which may have a password or a token."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"its certificate is not trusted: {error.certificate_error}"
    if isinstance(error, aiohttp.InvalidURL):
        return "the URL is not valid"
    return str(error) or type(error).__name__
