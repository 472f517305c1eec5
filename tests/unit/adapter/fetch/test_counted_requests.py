"""The metrics of requests to Prometheus."""

from prometheus_client import REGISTRY

from adapter.model import Plan
from tests.unit.adapter.fetch.canned import vector


async def test_requests_and_their_times_are_counted_by_backend_and_endpoint(server, connect):
    where = {"backend": "default", "endpoint": "query"}

    def counted():
        return (
            REGISTRY.get_sample_value(
                "loadline_adapter_prometheus_requests_total", {**where, "outcome": "succeeded"}
            )
            or 0,
            REGISTRY.get_sample_value(
                "loadline_adapter_prometheus_request_duration_seconds_count", where
            )
            or 0,
        )

    requests, durations = counted()
    server.says = vector()
    await connect().evaluate(Plan("x"))
    assert counted() == (requests + 1, durations + 1)
