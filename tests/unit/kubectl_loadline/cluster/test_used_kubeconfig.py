"""The commands of the adapter use the same credentials as the plugin that runs them."""

from pathlib import Path

import pytest

from kubectl_loadline.cluster.adapter_program import cluster_arguments
from kubectl_loadline.cluster.flags import Cluster
from wire.kube.chosen_context import ChosenContext
from wire.kube.cluster_access import ConnectionConfigError

KUBECONFIG = """
current-context: a
contexts:
  - {name: a, context: {cluster: c, namespace: shop}}
  - {name: b, context: {cluster: c}}
"""


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


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (Cluster(), "shop"),
        (Cluster(context=ChosenContext(name="b")), "default"),
        (Cluster(context=ChosenContext(name="b"), namespace="eu"), "eu"),
    ],
    ids=["of the context", "of a context without one", "of the flag"],
)
def test_objects_in_files_without_a_namespace_get_that_of_kubectl(
    tmp_path, monkeypatch, cluster, expected
):
    (tmp_path / "kubeconfig").write_text(KUBECONFIG)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    assert cluster.namespace_of_files() == expected


def test_without_a_kubeconfig_the_namespace_of_files_is_default(monkeypatch):
    assert Cluster().namespace_of_files() == "default"
    monkeypatch.setenv("KUBECONFIG", "/missing")
    assert Cluster().namespace_of_files() == "default"


@pytest.mark.parametrize(
    ("text", "context", "problem"),
    [("a: [", None, "while parsing"), (KUBECONFIG, "x", "there is no context 'x'")],
)
def test_a_namespace_in_a_wrong_kubeconfig_is_not_guessed(tmp_path, text, context, problem):
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    cluster = Cluster(kubeconfig=file, context=ChosenContext(name=context))
    with pytest.raises(ConnectionConfigError, match=f"kubeconfig {file}: .*{problem}"):
        cluster.namespace_of_files()
