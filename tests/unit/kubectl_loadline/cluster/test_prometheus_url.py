"""Which Prometheus a command reads, and whether it may receive the user's credentials."""

import pytest

from kubectl_loadline.cluster.connecting import Unreachable
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from tests.unit.kubectl_loadline.cluster.test_programs import deployment, session
from wire.api.status import forbidden


async def test_credentials_are_not_sent_to_a_prometheus_that_was_found():
    """A label is enough to be found."""
    cluster = session(deployment("adapter"))
    with pytest.raises(ValueError, match="add --prometheus-url"):
        async with prometheus_url(cluster, url="", adapter="", sends_credentials=True):
            pass
    assert cluster.client.requested == []


async def test_a_url_that_the_user_gives_may_receive_them():
    url = "https://prometheus.example.com"
    async with prometheus_url(session(), url=url, adapter="", sends_credentials=True) as found:
        assert found == url


def without_services(namespace, name):
    """A cluster in which the user may not get a Service."""
    cluster = session()
    path = f"/api/v1/namespaces/{namespace}/services/{name}"
    cluster.client.answers[path] = forbidden(f"cannot get {path}")
    return cluster


async def test_a_host_that_only_looks_like_a_service_is_used_as_it_is():
    """`corp` is a domain, and RBAC answers 403 for a namespace that does not exist."""
    url = "http://prom.corp:9090"
    async with prometheus_url(without_services("corp", "prom"), url=url, adapter="") as found:
        assert found == url


async def test_a_service_that_the_user_names_and_may_not_get_is_an_error():
    url = "http://prometheus.monitoring.svc:9090"
    cluster = without_services("monitoring", "prometheus")
    with pytest.raises(Unreachable, match="cannot get"):
        async with prometheus_url(cluster, url=url, adapter=""):
            pass


async def test_a_service_of_the_adapter_that_the_user_may_not_get_is_an_error():
    """The URL of the adapter is one of the cluster."""
    cluster = without_services("monitoring", "prometheus")
    url = "http://prometheus.monitoring:9090"
    adapter = deployment("adapter", f"--prometheus-url={url}")
    cluster.client.serve(
        "/apis/apps/v1/namespaces/monitoring/deployments/loadline-adapter", adapter
    )
    with pytest.raises(Unreachable, match="cannot get"):
        async with prometheus_url(cluster, url="", adapter="monitoring/loadline-adapter"):
            pass
