"""What happened, read back from Prometheus: the same numbers that the autoscalers saw."""

from datetime import UTC, datetime

import msgspec
from prometheus_api_client import PrometheusConnect

from testbed.demo.plan import RATE_WINDOW_SECONDS, WEB, WORKER, Workload
from testbed.prometheus import PrometheusServer

STEP = "1s"
METRIC_QUERIES = {
    WEB.name: f"avg(sum by (pod) (rate(http_requests_total[{RATE_WINDOW_SECONDS}s])))",
    WORKER.name: f'sum(queue_length) / sum(demo_replicas{{workload="{WORKER.name}"}})',
}


class Line(msgspec.Struct, frozen=True):
    """One series; times count from the beginning of the demo."""

    seconds: list[float]
    values: list[float]


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """One workload over the whole time."""

    workload: Workload
    load: Line
    metric: Line
    replicas: Line


class Between(msgspec.Struct, frozen=True, kw_only=True):
    """The time of the demo."""

    start_unix_seconds: float
    end_unix_seconds: float


def read(prometheus: PrometheusServer, workload: Workload, between: Between) -> Past:
    """Range queries, one a second."""
    client = PrometheusConnect(url=prometheus.url)

    def line(query: str) -> Line:
        result = client.custom_query_range(
            query,
            start_time=datetime.fromtimestamp(between.start_unix_seconds, UTC),
            end_time=datetime.fromtimestamp(between.end_unix_seconds, UTC),
            step=STEP,
        )
        points = result[0]["values"] if result else []
        return Line(
            [float(at) - between.start_unix_seconds for at, _ in points],
            [float(value) for _, value in points],
        )

    return Past(
        workload=workload,
        load=line(f'demo_load{{workload="{workload.name}"}}'),
        metric=line(METRIC_QUERIES[workload.name]),
        replicas=line(f'demo_replicas{{workload="{workload.name}"}}'),
    )
