"""The commands of docs/keda.md in a cluster with KEDA's operator and its APIService; no pod runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cluster import Cluster
from tests.e2e.cluster_shell import cluster_shell
from tests.shell import Shell

EXTERNAL = "v1beta1.external.metrics.k8s.io"
KEDA = {"name": "keda-operator-metrics-apiserver", "namespace": "keda", "port": 443}
APISERVICE = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": EXTERNAL},
    "spec": {
        "group": "external.metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": KEDA,
    },
}


@pytest.fixture
def shell(cluster: Cluster, tmp_path: Path) -> Iterator[Shell]:
    for namespace in ("keda", "monitoring"):
        cluster.create_namespace(namespace)
    cluster.kubectl("create", "deployment", "keda-operator", "--image=keda", "-nkeda")
    cluster.apply(APISERVICE)
    shell = cluster_shell(cluster, tmp_path)
    yield shell
    shell.run("helm uninstall loadline-adapter -n monitoring --wait")
    cluster.kubectl("delete", "apiservice", EXTERNAL, "--ignore-not-found")
    for namespace in ("keda", "monitoring"):
        cluster.kubectl("delete", "namespace", namespace, "--wait=true")


def test_the_adapter_is_installed_beside_keda_and_takes_the_api_over(
    cluster: Cluster, shell: Shell, documented_blocks
):
    beside, take_over = documented_blocks
    shell.run(beside)
    assert serving(cluster) == KEDA
    shell.run(take_over)
    assert serving(cluster)["name"] == "loadline-adapter"
    operator = cluster.get("/apis/apps/v1/namespaces/keda/deployments/keda-operator")
    assert operator["spec"]["replicas"] == 0


def serving(cluster: Cluster) -> dict:
    """The Service that requests for external metrics go to."""
    path = f"/apis/apiregistration.k8s.io/v1/apiservices/{EXTERNAL}"
    service: dict = cluster.get(path)["spec"]["service"]
    return service
