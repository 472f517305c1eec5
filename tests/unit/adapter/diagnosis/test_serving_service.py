"""A metric of an API for which this adapter has no rules is explained by the name of the Service that serves it."""

import msgspec
import pytest

from adapter.commands.explain_text import text_of
from adapter.diagnosis import serving_service
from adapter.diagnosis.explanation import Explanation, Finding
from adapter.diagnosis.serving_service import unserved
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
                "metadata": {"name": path.rpartition("/")[2]},
                "spec": {"service": {"namespace": namespace, "name": name}},
                "status": {"conditions": [condition]},
            }
        )


async def with_server(explanations, cluster, *, is_new_configuration=False):
    return await serving_service.with_serving_service(
        explanations, cluster, is_new_configuration=is_new_configuration
    )


async def test_a_new_configuration_without_the_rules_of_the_present_one_is_a_failure():
    """The Service is that of the running adapter, which has other rules."""
    missing = msgspec.structs.replace(
        CPU, path="/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"
    )
    cluster = Cluster("monitoring/loadline-adapter")
    external, cpu = await with_server([missing, CPU], cluster, is_new_configuration=True)
    assert not external.is_answered
    assert external.findings[0].message == (
        "not here. At present it is served by the Service monitoring/loadline-adapter"
    )
    assert cpu.is_answered


async def test_usage_of_another_server_has_its_name_and_the_command_that_reads_it():
    load, cpu = await with_server([LOAD, CPU], Cluster("kube-system/metrics-server"))
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
    ("path", "api_service"),
    [
        pytest.param(PATH, "v1beta1.metrics.k8s.io", id="usage"),
        pytest.param(
            "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/s0-prometheus?labelSelector=a%3Db",
            "v1beta1.external.metrics.k8s.io",
            id="KEDA",
        ),
        pytest.param(
            "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/metrics/load",
            "v1beta2.custom.metrics.k8s.io",
            id="another custom metrics server",
        ),
    ],
)
async def test_the_api_service_of_the_requested_version_is_read(path, api_service):
    cluster = Cluster("keda/keda-operator-metrics-apiserver")
    missing = msgspec.structs.replace(CPU, path=path)
    assert unserved([LOAD, missing, missing]) == (api_service,)
    first, second = await with_server([missing, missing], cluster)
    assert first == second
    assert first.served_by == "keda/keda-operator-metrics-apiserver"
    assert cluster.requested == [f"/apis/apiregistration.k8s.io/v1/apiservices/{api_service}"]


async def test_without_a_known_server_it_is_the_failure_of_the_adapter():
    assert await with_server([CPU], Cluster()) == (CPU,)
    assert not CPU.is_answered


async def test_a_server_that_is_not_available_is_named_and_is_a_failure():
    [cpu] = await with_server([CPU], Cluster("kube-system/metrics-server", is_available=False))
    assert not cpu.is_answered
    failure, fix = text_of("", cpu).splitlines()[-2:]
    assert failure == (
        "GroupNotServed: not here. It is served by the Service kube-system/metrics-server, which is not available"
    )
    assert fix == (
        "  fix: See why: kubectl describe apiservice v1beta1.metrics.k8s.io. "
        "If kube-system/metrics-server is this adapter's Service: add rules"
    )


async def test_a_path_without_a_version_has_no_api_service():
    path = msgspec.structs.replace(CPU, path="/apis/metrics.k8s.io")
    cluster = Cluster("kube-system/metrics-server")
    assert await with_server([path], cluster) == (path,)
    assert cluster.requested == []


async def test_nothing_is_read_from_the_cluster_when_nothing_is_missing():
    cluster = Cluster("kube-system/metrics-server")
    served = Explanation(path=PATH, code=200, value_count=1)
    failed = Explanation(path=PATH, code=500, ended_at="samples")
    assert await with_server([LOAD, served, failed], cluster) == (LOAD, served, failed)
    assert cluster.requested == []
