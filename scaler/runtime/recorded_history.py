"""The parts that let new forecasts learn from recorded history, as --prometheus-url says."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from scaler.api.autoscaler import MetricSpec
from scaler.cluster.forecast_metric_query import NoHistory, load_query
from scaler.cluster.forecast_warm_starts import WarmStarts
from scaler.cluster.ports import Mapper
from scaler.cluster.prometheus_options import PrometheusOptions
from scaler.cluster.range_queries import RangeQueries
from scaler.cluster.telemetry import Telemetry
from scaler.runtime.adapter_connection import AdapterConnection

# After the start, the direct connection takes a moment.
CONNECTION_SECONDS: Final = 30.0


def warm_starts(
    options: PrometheusOptions | None,
    route: AdapterConnection | None,
    mapper: Mapper,
    telemetry: Telemetry,
    *,
    monotonic: Callable[[], float] = time.monotonic,
) -> WarmStarts | None:
    """None without --prometheus-url."""
    if options is None or route is None:
        return None

    async def query_of(namespace: str, metric: MetricSpec) -> str:
        try:
            async with asyncio.timeout(CONNECTION_SECONDS):
                adapter = await route.connected()
        except TimeoutError as error:
            raise NoHistory("the adapter cannot be reached directly") from error
        return await load_query(adapter, mapper, namespace, metric)

    return WarmStarts(query_of, RangeQueries(options), telemetry, monotonic=monotonic)
