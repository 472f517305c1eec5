"""The scaler in place of the built-in controller; restarts of everything around it; two of them at once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from testbed import apiservices
from testbed.cluster import Cluster
from testbed.cluster_options import ALL_CONTROLLERS, ClusterOptions
from testbed.programs import LoadlineProcess, start_program
from testbed.waiting import until
from tests.e2e.scaler_objects import (
    CRD,
    EXTERNAL,
    HPA,
    LA,
    PLURALS,
    ExternalMetricsAPI,
    Json,
    Scene,
    workload,
)
from tests.e2e.scaler_objects import autoscaler as any_autoscaler


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A whole cluster without the HPA controller, with HPAs that may scale to zero."""
    options = ClusterOptions(
        controllers=(*ALL_CONTROLLERS, "-horizontal-pod-autoscaler-controller"),
        feature_gates=(("HPAScaleToZero", True),),
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("in-place")) as running:
        running.apply(CRD.read_text())
        yield running


@pytest.fixture(scope="module")
def metrics(cluster: Cluster) -> Iterator[ExternalMetricsAPI]:
    certificate, key = cluster.serving_certificate("external-metrics")
    api = ExternalMetricsAPI(certificate, key)
    name = apiservices.register(cluster, EXTERNAL, "v1beta1", api.port)
    apiservices.wait_until_available(cluster, name)
    yield api
    apiservices.unregister(cluster, name)
    api.close()


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path) -> Iterator[Callable[..., LoadlineProcess]]:
    """Start a scaler; all are ended with the test."""
    started: list[LoadlineProcess] = []

    def one(*flags: str) -> LoadlineProcess:
        running = start_program(
            "scaler",
            f"--kubeconfig={cluster.kubeconfig}",
            "--sync-period=300ms",
            *flags,
            log_directory=tmp_path,
        )
        started.append(running)
        return running

    yield one
    for running in started:
        running.stop()


def autoscaler(namespace: str, api_version: str, **spec: int) -> Json:
    """Ten per replica of a metric that a test sets outright."""
    wanted = {"type": "AverageValue", "averageValue": "10"}
    metric = {"type": "External", "external": {"metric": {"name": "queue"}, "target": wanted}}
    limits = {"maxReplicas": 9, **spec}
    return any_autoscaler(namespace, metric, api_version=api_version, **limits)


def test_an_hpa_is_scaled_in_place_of_the_built_in_controller(cluster, metrics, namespace, start):
    start("--watch=horizontalpodautoscalers", "--downscale-stabilization=1s")
    scene = Scene(cluster, namespace, HPA)
    metrics.values[f"{namespace}/queue"] = "40"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, HPA))
    scene.reaches(4)
    until(lambda: scene.read()["status"].get("currentReplicas") == 4, what="the status")
    written = scene.read()
    assert written["metadata"]["labels"] == {"kept": "yes"}
    assert written["status"]["currentMetrics"][0]["external"]["current"] == {"averageValue": "10"}
    assert "decision" not in written["status"]
    assert "4" in cluster.kubectl("get", "hpa", "web", "--namespace", namespace)
    metrics.values[f"{namespace}/queue"] = "1"
    scene.reaches(1)


@pytest.mark.parametrize("api_version", [HPA, LA], ids=["HPA", "LoadAutoscaler"])
def test_nothing_to_do_means_zero_replicas_and_work_brings_them_back(
    cluster, metrics, namespace, start, api_version
):
    start(
        f"--watch={PLURALS[api_version]}",
        "--downscale-stabilization=1s",
        "--feature-gates=HPAScaleToZero=true",
    )
    scene = Scene(cluster, namespace, api_version)
    metrics.values[f"{namespace}/queue"] = "20"
    cluster.apply(
        workload("Deployment", namespace, 1), autoscaler(namespace, api_version, minReplicas=0)
    )
    scene.reaches(2)
    metrics.values[f"{namespace}/queue"] = "0"
    scene.reaches(0)
    until(lambda: scene.conditions().get("ScaledToZero", [""])[0] == "True", what="ScaledToZero")
    metrics.values[f"{namespace}/queue"] = "30"
    scene.reaches(3)


def test_somebody_who_scales_to_zero_switches_scaling_off(cluster, metrics, namespace, start):
    start()
    scene = Scene(cluster, namespace, LA)
    metrics.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 0), autoscaler(namespace, LA))
    until(
        lambda: scene.conditions().get("ScalingActive", ["", ""])[1] == "ScalingDisabled",
        what="disabled",
    )
    assert scene.replicas() == 0


def test_only_the_namespaces_that_were_named_are_scaled(cluster, metrics, namespace, start):
    cluster.kubectl("create", "namespace", f"{namespace}-other")
    start(f"--namespace={namespace}")
    for each in (namespace, f"{namespace}-other"):
        metrics.values[f"{each}/queue"] = "20"
        cluster.apply(workload("Deployment", each, 1), autoscaler(each, LA))
    Scene(cluster, namespace, LA).reaches(2)
    assert "status" not in Scene(cluster, f"{namespace}-other", LA).read()
    assert Scene(cluster, f"{namespace}-other", LA).replicas() == 1


def test_a_restarted_scaler_remembers_what_holds_the_replicas_up(
    cluster, metrics, namespace, start
):
    """Within the window a low reading must not shrink what a high one asked for, whoever is asking."""
    flags = ("--downscale-stabilization=10m",)
    first = start(*flags)
    scene = Scene(cluster, namespace, LA)
    metrics.values[f"{namespace}/queue"] = "60"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    scene.reaches(6)
    metrics.values[f"{namespace}/queue"] = "10"
    until(
        lambda: scene.conditions().get("AbleToScale", ["", ""])[1] == "ScaleDownStabilized",
        what="stabilized",
    )
    first.stop()
    # Without its memory the second one would take three for all that was ever recommended.
    cluster.kubectl("scale", "deployment", "web", "--replicas=3", "--namespace", namespace)
    start(*flags)
    scene.reaches(6)


def test_the_api_server_may_restart(cluster, metrics, namespace, start):
    running = start("--downscale-stabilization=1s")
    scene = Scene(cluster, namespace, LA)
    metrics.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    scene.reaches(2)
    cluster.restart_apiserver()
    apiservices.wait_until_available(cluster, f"v1beta1.{EXTERNAL}")
    assert scene.replicas() == 2
    metrics.values[f"{namespace}/queue"] = "50"
    scene.reaches(5)
    assert running.get("/readyz").status == 200


def test_a_write_by_somebody_else_is_overridden_not_lost(cluster, metrics, namespace, start):
    """Conflicts are retried; many writers of an annotation make many of them."""
    start("--downscale-stabilization=1s")
    scene = Scene(cluster, namespace, LA)
    metrics.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    scene.reaches(2)
    for number in range(10):
        metrics.values[f"{namespace}/queue"] = str(10 * (3 + number % 2))
        cluster.kubectl(
            "annotate",
            "deployment",
            "web",
            f"touched={number}",
            "--overwrite",
            "--namespace",
            namespace,
        )
    scene.reaches(4)


def test_of_two_scalers_one_leads_and_the_other_takes_over(cluster, metrics, namespace, start):
    flags = (
        "--leader-elect",
        f"--leader-elect-resource-namespace={namespace}",
        "--leader-elect-lease-duration=3s",
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=500ms",
        "--downscale-stabilization=1s",
    )
    scene = Scene(cluster, namespace, LA)
    metrics.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, LA))
    first = start(*flags)
    scene.reaches(2)
    second = start(*flags)
    assert second.get("/readyz").status == 200
    first.kill()
    metrics.values[f"{namespace}/queue"] = "40"
    scene.reaches(4)
