"""The commands of the adapter use the same credentials as the plugin that runs them."""

from pathlib import Path

import pytest

from kubectl_loadline.cluster.adapter_program import cluster_arguments
from kubectl_loadline.cluster.flags import Cluster
from wire.kube.chosen_context import ChosenContext


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    """A pod without a kubeconfig."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.delenv("KUBECONFIG", raising=False)


def test_in_a_pod_the_kubeconfig_in_the_home_folder_is_named(tmp_path):
    (tmp_path / ".kube").mkdir()
    file = tmp_path / ".kube" / "config"
    file.write_text("clusters: [{name: c}]")
    assert cluster_arguments(Cluster()) == [f"--kubeconfig={file}"]


def test_an_empty_one_is_not_named(tmp_path):
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube" / "config").write_text("")
    assert cluster_arguments(Cluster()) == []


def test_the_given_one_comes_first(monkeypatch):
    monkeypatch.setenv("KUBECONFIG", "/variable")
    cluster = Cluster(kubeconfig=Path("given"), context=ChosenContext(name="c"))
    assert cluster_arguments(cluster) == ["--kubeconfig=given", "--context=c"]
    assert cluster_arguments(Cluster()) == ["--kubeconfig=/variable"]
