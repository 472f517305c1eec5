"""The load that Prometheus has recorded: one sample per minute, a day per request, one request at a time."""

from typing import Final

from scaler.cluster.forecast.load_query import NoRecordedLoad
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from wire.prometheus.access import FileCredentials, PrometheusURL
from wire.prometheus.options import PrometheusOptions
from wire.prometheus.query_api import PrometheusQueries, RangeResult
from wire.prometheus.responses import reports_missing_stores
from wire.prometheus.transport import NoAnswer, Transport

TIMEOUT_SECONDS: Final = 60.0
# One series of a day takes 50 kB.
RESPONSE_BYTES_MAX: Final = 2**20
STEP_SECONDS: Final = 60


class RecordedLoad:
    """Of one Prometheus. Credentials are read again for every request, and never shown."""

    def __init__(self, options: PrometheusOptions, *, user_agent: str) -> None:
        self._options = options
        self._address = PrometheusURL.of(options.url)
        self._credentials = FileCredentials(options)
        self._user_agent = user_agent

    async def by_minute(self, promql: str, first: int, last: int) -> dict[int, float]:
        """The value at the begin of each of these minutes (since 1970) that has one. Raises `NoRecordedLoad`.

        The query must have one series at most.
        """
        transport = Transport(
            self._options.url,
            self._credentials,
            user_agent=self._user_agent,
            headers=self._options.headers,
            verb="POST",
        )
        queries = PrometheusQueries(
            transport, seconds=TIMEOUT_SECONDS, bytes_max=RESPONSE_BYTES_MAX
        )
        found: dict[int, float] = {}
        try:
            for start in range(first, last + 1, MINUTES_PER_DAY):
                end = min(start + MINUTES_PER_DAY - 1, last)
                result = await queries.range(
                    promql,
                    start=start * STEP_SECONDS,
                    end=end * STEP_SECONDS,
                    step=STEP_SECONDS,
                )
                found |= _values(result)
        except NoAnswer as error:
            base = self._address.base
            cause = error.cause.removeprefix(f"{base}: ")
            raise NoRecordedLoad(f"Prometheus at {base} cannot be read: {cause}") from error
        finally:
            await queries.close()
        return found


def _values(result: RangeResult) -> dict[int, float]:
    for warning in filter(reports_missing_stores, result.warnings):
        raise NoRecordedLoad(f"the recorded history is not complete: {warning}")
    return {
        round(at / STEP_SECONDS): value
        for each in result.series
        for at, value in each.samples.items()
    }
