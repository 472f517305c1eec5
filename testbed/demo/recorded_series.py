"""The recorded series of the demo, read from Prometheus: the same values that the autoscalers used."""

from datetime import UTC, datetime

import msgspec
from prometheus_api_client import PrometheusConnect

from testbed.demo.load_plan import RATE_WINDOW_SECONDS, WEB, WORKER, Workload
from testbed.prometheus import PrometheusServer

STEP = "1s"
METRIC_QUERIES = {
    WEB.name: f"avg(sum by (pod) (rate(http_requests_total[{RATE_WINDOW_SECONDS}s])))",
    WORKER.name: f'sum(queue_length) / sum(demo_replicas{{workload="{WORKER.name}"}})',
}


class TimeSeries(msgspec.Struct, frozen=True):
    """One series; times are seconds since the start of the demo."""

    seconds: list[float]
    values: list[float]


class RecordedWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """The series of one workload."""

    workload: Workload
    load: TimeSeries
    metric: TimeSeries
    replicas: TimeSeries


class TimeRange(msgspec.Struct, frozen=True, kw_only=True):
    """The time range of the demo."""

    start_unix_seconds: float
    end_unix_seconds: float


def read(
    prometheus: PrometheusServer, workload: Workload, time_range: TimeRange
) -> RecordedWorkload:
    """Run the range queries, with a step of one second."""
    client = PrometheusConnect(url=prometheus.url)

    def series(query: str) -> TimeSeries:
        result = client.custom_query_range(
            query,
            start_time=datetime.fromtimestamp(time_range.start_unix_seconds, UTC),
            end_time=datetime.fromtimestamp(time_range.end_unix_seconds, UTC),
            step=STEP,
        )
        points = result[0]["values"] if result else []
        return TimeSeries(
            [float(at) - time_range.start_unix_seconds for at, _ in points],
            [float(value) for _, value in points],
        )

    return RecordedWorkload(
        workload=workload,
        load=series(f'demo_load{{workload="{workload.name}"}}'),
        metric=series(METRIC_QUERIES[workload.name]),
        replicas=series(f'demo_replicas{{workload="{workload.name}"}}'),
    )
