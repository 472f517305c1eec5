"""Usage that this adapter does not serve is explained by the name of the Service that does."""

import msgspec
import pytest

from adapter.commands.explain_text import text_of
from adapter.diagnosis.explanation import Explanation, Finding
from adapter.diagnosis.usage_server import with_server_of_usage
from wire.api.status import forbidden

PATH = "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb"
UNSERVED = Finding(step="request", reason="GroupNotServed", message="not here", fix="add rules")
CPU = Explanation(path=PATH, code=404, ended_at="request", findings=(UNSERVED,))
LOAD = Explanation(path="/apis/custom.metrics.k8s.io/v1beta2/x", code=200, value_count=1)


class Cluster:
    """An API server with one APIService, or that refuses to show it."""

    def __init__(self, service: str = "", *, is_available: bool = True) -> None:
        self.service = service
        self.is_available = is_available
        self.requested: list[str] = []

    async def get(self, path, params=None, *, accept=""):
        self.requested.append(path)
        if not self.service:
            raise forbidden("you may not read it")
        namespace, name = self.service.split("/")
        condition = {"type": "Available", "status": "True" if self.is_available else "False"}
        return msgspec.json.encode(
            {
                "metadata": {"name": "v1beta1.metrics.k8s.io"},
                "spec": {"service": {"namespace": namespace, "name": name}},
                "status": {"conditions": [condition]},
            }
        )


async def test_usage_of_another_server_has_its_name_and_the_command_that_reads_it():
    load, cpu = await with_server_of_usage([LOAD, CPU], Cluster("kube-system/metrics-server"))
    assert load == LOAD
    assert cpu.served_by == "kube-system/metrics-server"
    assert cpu.is_answered
    assert text_of("Resource metric cpu", cpu).splitlines() == [
        "Resource metric cpu",
        f"path     {PATH}",
        "served   by the Service kube-system/metrics-server, and not by this adapter: there is no query to explain",
        f"         kubectl get --raw '{PATH}' shows the values",
    ]


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param(Cluster(), id="not known"),
        pytest.param(Cluster("monitoring/loadline-adapter", is_available=False), id="unavailable"),
    ],
)
async def test_without_a_server_that_is_available_it_is_a_failure(cluster):
    [cpu] = await with_server_of_usage([CPU], cluster)
    assert cpu == CPU
    assert not cpu.is_answered


async def test_nothing_is_read_from_the_cluster_when_nothing_is_missing():
    cluster = Cluster("kube-system/metrics-server")
    served = Explanation(path=PATH, code=200, value_count=1)
    failed = Explanation(path=PATH, code=500, ended_at="samples")
    assert await with_server_of_usage([LOAD, served, failed], cluster) == (LOAD, served, failed)
    assert cluster.requested == []
