"""The examples for OpenShift, Argo CD, Flux and Kustomize: kube-apiserver accepts what they render."""

import base64
import shutil
from collections.abc import Iterator

import msgspec
import pytest
import yaml

from testbed.cluster import Cluster
from testbed.helm import CHARTS, HELM, Helm
from wire.process import go_yaml

EXAMPLES = CHARTS / "examples"
API = "v1beta2.custom.metrics.k8s.io"
# Argo CD always forces conflicts. Here it is also needed for the CRDs, which other tests have installed with Helm.
SERVER_SIDE = ("apply", "--server-side", "--force-conflicts", "--filename=-")


@pytest.fixture
def helm(cluster: Cluster, namespace: str) -> Iterator[Helm]:
    label = "pod-security.kubernetes.io/enforce=restricted"
    cluster.kubectl("label", "namespace", namespace, label)
    helm = Helm(cluster, namespace)
    yield helm
    for release in helm.releases():
        helm.uninstall(release)


def example(path: str, namespace: str) -> list[dict]:
    """The documents of an example, for the namespace of a test."""
    text = (EXAMPLES / path).read_text().replace("namespace: monitoring", f"namespace: {namespace}")
    return list(go_yaml.load_all(text))


@pytest.mark.parametrize("chart", ["adapter", "scaler"])
def test_the_values_for_openshift_are_installed_under_restricted_pod_security(
    cluster, helm, namespace, chart
):
    (values,) = example("openshift-values.yaml", namespace)
    helm.install(chart, release="r", values=values)
    pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
    assert pods
    assert not any("runAsUser" in msgspec.json.encode(pod["spec"]).decode() for pod in pods)


def test_the_applications_of_argo_cd_are_applied_and_leave_its_ca_to_the_adapter(
    cluster, helm, namespace
):
    adapter, scaler = example("argo-cd.yaml", namespace)
    rendered = {
        name: helm.template(
            name,
            release=application["spec"]["source"]["helm"]["releaseName"],
            values=application["spec"]["source"]["helm"]["valuesObject"],
        )
        for name, application in (("adapter", adapter), ("scaler", scaler))
    }
    # Deleting the CRDs afterwards would delete the objects of other tests.
    cluster.kubectl(*SERVER_SIDE, "--dry-run=server", input=rendered["scaler"])
    try:
        cluster.kubectl(*SERVER_SIDE, input=rendered["adapter"])
        bundle = base64.b64encode(cluster.authority).decode()
        change = msgspec.json.encode({"spec": {"caBundle": bundle}}).decode()
        cluster.kubectl("patch", "apiservice", API, "--type=merge", f"--patch={change}")
        cluster.kubectl(*SERVER_SIDE, input=rendered["adapter"])
        path = f"/apis/apiregistration.k8s.io/v1/apiservices/{API}"
        assert cluster.get(path)["spec"]["caBundle"] == bundle
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f-", input=rendered["adapter"])


def test_server_side_apply_returns_from_two_scalers_to_one(cluster, helm, namespace):
    """As by Argo CD. For two, kube-apiserver has added `rollingUpdate` to the strategy, which it refuses for one."""
    strategies = []
    try:
        for replicas in (2, 1):
            values = {"replicas": replicas, "crds": {"install": False}}
            rendered = helm.template("scaler", release="r", values=values)
            cluster.kubectl(*SERVER_SIDE, input=rendered)
            path = f"/apis/apps/v1/namespaces/{namespace}/deployments/r-loadline-scaler"
            strategies.append(cluster.get(path)["spec"]["strategy"])
    finally:
        cluster.kubectl("delete", "--ignore-not-found", "-f-", input=rendered)
    assert "rollingUpdate" in strategies[0]
    assert strategies[1] == {"type": "Recreate"}


def test_the_releases_of_flux_are_installed_with_helm(cluster, helm, namespace):
    _, adapter, scaler = example("flux.yaml", namespace)
    for name, release in (("adapter", adapter), ("scaler", scaler)):
        helm.install(name, release=release["metadata"]["name"], values=release["spec"]["values"])
    assert sorted(helm.releases()) == ["loadline-adapter", "loadline-scaler"]


def test_kustomize_renders_both_charts_without_their_hooks(cluster, namespace, tmp_path):
    """The charts are where Kustomize would store them after it has pulled them from the registry."""
    (kustomization,) = example("kustomize/kustomization.yaml", namespace)
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    for each in kustomization["helmCharts"]:
        place = tmp_path / "charts" / f"{each['name']}-{each['version']}" / each["name"]
        shutil.copytree(CHARTS / each["name"].removeprefix("loadline-"), place)
    rendered = cluster.kubectl(
        "kustomize", "--enable-helm", f"--helm-command={HELM}", str(tmp_path)
    )
    objects = list(go_yaml.load_all(rendered))
    assert not [each for each in objects if each["kind"] in {"Job", "Pod"}]
    namespaces = {each["metadata"].get("namespace") for each in objects}
    assert namespaces == {None, "kube-system", namespace}
    cluster.kubectl(*SERVER_SIDE, "--dry-run=server", input=rendered)
