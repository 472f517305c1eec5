"""The metrics API of the benchmarks answers the requests of a scaler, with other values while they change."""

import itertools

import pytest
from aiohttp.test_utils import TestClient, TestServer

from benchmarks.instruments.metric_kinds import SHARES, MetricKind, response
from benchmarks.instruments.metrics_api import application

REQUESTS = {
    MetricKind.EXTERNAL: "/apis/external.metrics.k8s.io/v1beta1/namespaces/bench/queue_depth?labelSelector=queue%3D2",
    MetricKind.OBJECT: "/apis/custom.metrics.k8s.io/v1beta2/namespaces/bench/services/web-2/queue_depth",
    MetricKind.PODS: "/apis/custom.metrics.k8s.io/v1beta2/namespaces/bench/pods/*/queue_depth?labelSelector=app%3Dweb-2",
    MetricKind.RESOURCE: "/apis/metrics.k8s.io/v1beta1/namespaces/bench/pods?labelSelector=app%3Dweb-2",
}


@pytest.mark.parametrize("kind", MetricKind)
async def test_the_value_is_another_one_only_while_the_metrics_change(kind):
    async with TestClient(TestServer(application(3))) as client:
        assert (await client.get(f"/apis/{kind.group}/{kind.version}")).status == 200

        async def body() -> bytes:
            found = await client.get(REQUESTS[kind])
            assert found.status == 200, await found.text()
            return await found.read()

        assert {await body() for _ in range(3)} == {response(kind, 2, 1.0)}
        await client.get("/changing?changing=1")
        changing = [await body() for _ in range(2 * len(SHARES))]
        assert set(changing) == {response(kind, 2, share) for share in SHARES}
        assert all(before != after for before, after in itertools.pairwise(changing))
        await client.get("/changing?changing=0")
        assert await body() == response(kind, 2, 1.0)
