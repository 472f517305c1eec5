"""The CRDs of the scaler chart on a cluster that has none: which are installed, upgraded and kept."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml

from testbed.cluster import Cluster, KubectlFailed
from testbed.cluster_options import ClusterOptions
from testbed.helm import CHARTS, Helm
from testbed.waiting import until
from tests.e2e.cluster_shell import cluster_shell
from wire.process import go_yaml

FOR_LOADAUTOSCALERS = {"clusterscalingcalendars", "loadautoscalers", "scalingcalendars"}
FOR_HPAS = {"scalingmemories"}
OUTSIDE = {"replicas": 0}
HPAS = {**OUTSIDE, "watch": "horizontalpodautoscalers"}


@pytest.fixture(scope="module")
def bare() -> Iterator[Cluster]:
    """A control plane without nodes, because there are no pods."""
    with Cluster(ClusterOptions(scheduler=False, kwok=False, nodes=0)) as cluster:
        yield cluster


@pytest.fixture
def helm(bare: Cluster) -> Iterator[Helm]:
    helm = Helm(bare, "default")
    yield helm
    wait_until_listable(bare)
    for release in helm.releases():
        helm.uninstall(release)
    for plural in crds(bare):
        bare.kubectl("delete", "crd", f"{plural}.loadline.io", "--wait")


def crds(cluster: Cluster) -> set[str]:
    listed = cluster.kubectl("get", "crd", "--output=name").split()
    return {name.partition("/")[2].partition(".")[0] for name in listed}


def previous_chart(directory: Path) -> Path:
    """The chart with a CRD that lacks a field of the status."""
    chart = directory / "scaler"
    shutil.copytree(CHARTS / "scaler", chart)
    file = chart / "files" / "crds" / "loadautoscalers.yaml"
    crd = go_yaml.load(file.read_text())
    del status_fields(crd)["schedule"]
    crd["metadata"] = {"name": crd["metadata"]["name"]}
    file.write_text(yaml.safe_dump(crd, sort_keys=False))
    return chart


def status_fields(crd: dict) -> dict:
    fields = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return fields["status"]["properties"]


def wait_until_listable(cluster: Cluster) -> None:
    """Or kube-apiserver, which lists the objects of a CRD before it deletes it, fails, and tries that again after five minutes."""
    for plural in crds(cluster):
        path = f"/apis/loadline.io/v1beta1/{plural}"
        until(lambda path=path: cluster.get(path), what=f"{path} to be listed")


def is_upgraded(cluster: Cluster) -> bool:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/loadautoscalers.loadline.io"
    return "schedule" in status_fields(cluster.get(path))


AUTOSCALER = {
    "apiVersion": "loadline.io/v1beta1",
    "kind": "LoadAutoscaler",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "maxReplicas": 3,
    },
}


def test_only_the_crds_that_the_mode_requires_are_installed(bare, helm):
    helm.install("scaler", release="s", values=HPAS)
    assert crds(bare) == FOR_HPAS
    helm.upgrade("scaler", release="s", values=OUTSIDE)
    # The memories of the HPAs are kept until the user deletes the CRD.
    assert crds(bare) == FOR_LOADAUTOSCALERS | FOR_HPAS


def test_no_crd_is_installed_if_the_user_manages_them(bare, helm):
    notes = helm.install("scaler", release="s", values={**OUTSIDE, "crds": {"install": False}})
    assert crds(bare) == set()
    assert "kubectl apply --server-side -f charts/scaler/files/crds" in notes
    bare.kubectl("apply", "--server-side", "-f", str(CHARTS / "scaler" / "files" / "crds"))
    assert crds(bare) == FOR_LOADAUTOSCALERS | FOR_HPAS


def test_the_documented_command_deletes_all_that_an_uninstallation_keeps(
    bare, helm, documented_blocks, tmp_path
):
    [delete] = documented_blocks
    helm.install("scaler", release="s", values=HPAS)
    helm.upgrade("scaler", release="s", values=OUTSIDE)
    helm.uninstall("s")
    assert crds(bare) == FOR_LOADAUTOSCALERS | FOR_HPAS
    wait_until_listable(bare)
    cluster_shell(bare, tmp_path).run(delete)
    assert crds(bare) == set()


def test_an_upgrade_of_the_release_upgrades_the_crds_and_keeps_the_objects(bare, helm, tmp_path):
    helm.install(previous_chart(tmp_path), release="s", values=OUTSIDE)
    assert not is_upgraded(bare)
    create(bare)
    before = uid(bare)

    helm.upgrade("scaler", release="s", values=OUTSIDE)
    assert is_upgraded(bare)
    assert uid(bare) == before

    helm.uninstall("s")
    assert crds(bare) == FOR_LOADAUTOSCALERS
    assert uid(bare) == before
    helm.install("scaler", release="s", values=OUTSIDE)
    assert uid(bare) == before


def test_crds_of_another_release_are_left_unchanged_until_they_are_taken_over(bare, helm, tmp_path):
    helm.install(previous_chart(tmp_path), release="first", values=OUTSIDE)
    notes = helm.install("scaler", release="second", values=OUTSIDE)
    assert not is_upgraded(bare)
    (commands,) = re.findall(
        r"^  kubectl annotate .*?^  kubectl label [^\n]*$", notes, re.MULTILINE | re.DOTALL
    )

    kubectl = f"kubectl --kubeconfig={bare.kubeconfig}"
    script = commands.replace("kubectl", kubectl)
    environment = {"PATH": f"{bare.kubectl_path.parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    subprocess.run(["sh", "-ec", script], env=environment, check=True, capture_output=True)
    notes = helm.upgrade("scaler", release="second", values=OUTSIDE)
    assert is_upgraded(bare)
    assert "does not upgrade the CRDs" not in notes


def create(cluster: Cluster) -> None:
    """Right after its CRD, a resource is not served yet."""

    def created() -> bool:
        try:
            cluster.apply(AUTOSCALER)
        except KubectlFailed as not_yet:
            raise AssertionError(str(not_yet)) from not_yet
        return True

    until(created, what="a LoadAutoscaler")


def uid(cluster: Cluster) -> str:
    text = cluster.kubectl("get", "loadautoscaler", "web", "-ndefault", "-ojson")
    return msgspec.json.decode(text)["metadata"]["uid"]
