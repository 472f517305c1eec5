"""`kubectl loadline check FILE` without a cluster: the files are checked, and what could not be tried is said."""

import json

import pytest

from kubectl_loadline.program import main

USABLE = "metrics: [{name: queue, query: sum(queue)}]\n"
UNREACHABLE = {
    "kind": "Config",
    "current-context": "c",
    "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
}


@pytest.fixture(params=["no kubeconfig", "no response"])
def without_cluster(request, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    if request.param == "no response":
        (tmp_path / "kubeconfig").write_text(json.dumps(UNREACHABLE))
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))


@pytest.fixture
def checked(tmp_path, capsys):
    def check(text, *flags):
        (tmp_path / "rules.yaml").write_text(text)
        code = main(["check", str(tmp_path / "rules.yaml"), *flags])
        return code, capsys.readouterr()

    return check


@pytest.mark.usefixtures("without_cluster")
def test_a_usable_file_is_checked_but_not_tried(checked):
    code, printed = checked(USABLE)
    assert code == 1
    assert "rules are not tried on Prometheus: " in printed.err
    assert "rules.yaml is accepted: 1 rule" in printed.out


@pytest.mark.usefixtures("without_cluster")
def test_an_invalid_file_is_refused(checked):
    code, printed = checked("metrics: [{name: queue}]\n")
    assert code == 3
    assert "rules.yaml" in printed.err


@pytest.mark.usefixtures("without_cluster")
def test_a_prometheus_outside_of_the_cluster_is_used(checked):
    code, printed = checked(USABLE, "--prometheus-url=http://127.0.0.1:1")
    assert code == 1
    assert "http://127.0.0.1:1" in printed.out


@pytest.mark.usefixtures("without_cluster")
def test_without_a_file_there_is_nothing_to_check(capsys):
    assert main(["check"]) in (1, 2)
    assert "not tried" not in capsys.readouterr().err
