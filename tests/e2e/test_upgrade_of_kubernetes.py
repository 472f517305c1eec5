"""The control plane is upgraded to the newest minor version while scalers run: nothing is scaled, and HPAs get what is new."""

import re
from collections.abc import Iterator

import msgspec
import pytest

from scaler.api.upstream import UPSTREAMS
from testbed import apiservices
from testbed.assets import suffix_of
from testbed.audit_log import AuditLog
from testbed.cluster import Cluster
from testbed.cluster_options import WITHOUT_HPA_CONTROLLER, ClusterOptions
from testbed.metrics_api_server import EXTERNAL
from testbed.programs import LoadlineProcess
from testbed.waiting import until
from tests.e2e.scaler_objects import (
    CRD,
    HPA,
    LA,
    MEMORY_CRD,
    Workspace,
    autoscaler,
    plain_queue,
    workload,
)

BEFORE, AFTER = (f"1.{each.minor}" for each in UPSTREAMS[-2:])
KEEPS_ITS_REPLICAS = "--downscale-stabilization=10m"
HPAS = "--watch=horizontalpodautoscalers"
TO_SIX = (4, 6)
"""The replicas that are written on the way from one to six: without `behavior`, one step leads from one to at most four."""


@pytest.fixture(scope="module")
def cluster(audit_log: AuditLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A complete cluster of the version before, without the HPA controller, with an audit log."""
    options = ClusterOptions(
        kubernetes_suffix=suffix_of(BEFORE),
        controllers=WITHOUT_HPA_CONTROLLER,
        apiserver_flags=audit_log.flags,
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("upgraded")) as running:
        running.apply_crd(CRD.read_text())
        running.apply_crd(MEMORY_CRD.read_text())
        yield running


def upgrade(cluster: Cluster) -> None:
    """Replace kube-apiserver and kube-controller-manager by those of the newest version; etcd keeps running."""
    options = msgspec.structs.replace(cluster.options, kubernetes_suffix=suffix_of(AFTER))
    cluster.restart_apiserver(options)
    cluster.restart_controller_manager(options)
    apiservices.wait_until_available(cluster, f"v1beta1.{EXTERNAL}")


def server_minor(cluster: Cluster) -> str:
    version = cluster.get("/version")
    return f"{version['major']}.{version['minor']}"


def shown_version(scaler: LoadlineProcess, token: str) -> tuple[str, str]:
    """The version of the API server and that of the equalled controller, from /metrics."""
    text = scaler.get("/metrics", Authorization=f"Bearer {token}").text
    (labels,) = re.findall(
        r"^loadline_scaler_kubernetes_version_info\{(.*)\} 1\.0$", text, re.MULTILINE
    )
    found = dict(re.findall(r'(\w+)="([^"]*)"', labels))
    return found["server"], found["behavior"]


def administrators_token(cluster: Cluster, namespace: str) -> str:
    cluster.kubectl("create", "serviceaccount", "reader", f"--namespace={namespace}")
    cluster.kubectl(
        "create",
        "clusterrolebinding",
        f"{namespace}-reader",
        "--clusterrole=cluster-admin",
        f"--serviceaccount={namespace}:reader",
    )
    return cluster.token(namespace, "reader")


def test_an_upgrade_under_running_scalers_scales_nothing_and_brings_the_new_behavior(
    cluster, metrics_api, namespace, start_scaler, audit_log
):
    assert server_minor(cluster) == BEFORE
    of_hpas = f"{namespace}-hpas"
    cluster.create_namespace(of_hpas)
    start_scaler(KEEPS_ITS_REPLICAS)
    scaler_of_hpas = start_scaler(HPAS, KEEPS_ITS_REPLICAS)
    both = (Workspace(cluster, namespace, LA), Workspace(cluster, of_hpas, HPA))
    hpas = both[1]

    def set_queues(value: str) -> None:
        for each in both:
            metrics_api.values[f"{each.namespace}/queue"] = value

    set_queues("60")
    for each, version in zip(both, (LA, HPA), strict=True):
        cluster.apply(
            workload("Deployment", each.namespace, 1),
            autoscaler(each.namespace, plain_queue("10"), api_version=version, maxReplicas=9),
        )
    for each in both:
        each.reaches(6)
    set_queues("10")
    for each in both:
        each.has_condition("AbleToScale", "True", "ScaleDownStabilized")
    until(lambda: is_remembered(cluster, of_hpas), what="the memory of the HPA")
    assert "observedGeneration" not in hpas.status()
    token = administrators_token(cluster, namespace)
    assert shown_version(scaler_of_hpas, token) == (BEFORE, BEFORE)
    written = {each: audit_log.has_scales(each.namespace, TO_SIX) for each in both}

    upgrade(cluster)

    assert server_minor(cluster) == AFTER
    until(
        lambda: shown_version(scaler_of_hpas, token) == (AFTER, AFTER),
        what="the scaler of HPAs to equal the new version",
        deadline_seconds=60,
    )
    ready = scaler_of_hpas.get("/readyz?verbose", Authorization=f"Bearer {token}").text
    assert "[+]kubernetes-version-known ok" in ready
    until(lambda: "observedGeneration" in hpas.status(), what="a status of the new version")
    for each in both:
        each.has_condition("AbleToScale", "True", "ScaleDownStabilized")
        assert each.replicas() == 6
        assert audit_log.has_scales(each.namespace, TO_SIX) == written[each]
    log = scaler_of_hpas.process.log_path.read_text()
    assert f"it was {BEFORE}: HPAs are scaled as by the controller of {AFTER}" in log

    # Without what was stored, the next scaler would start from three replicas.
    scaler_of_hpas.stop()
    cluster.kubectl("scale", "deployment", "web", "--replicas=3", f"--namespace={of_hpas}")
    start_scaler(HPAS, KEEPS_ITS_REPLICAS)
    hpas.reaches(6)

    set_queues("80")
    for each in both:
        each.reaches(8)


def is_remembered(cluster: Cluster, namespace: str) -> bool:
    """Whether a ScalingMemory has the recommendation of six replicas."""
    stored = cluster.get("/apis/loadline.io/v1beta1/scalingmemories")
    recommended = {
        step["replicas"]
        for memory in stored["items"]
        if memory["watchedNamespace"] == namespace
        for history in memory["histories"].values()
        for step in history.get("recommendations", ())
    }
    return 6 in recommended
