"""`kubectl loadline simulate` as a whole command line."""

import copy

import pytest

from kubectl_loadline.program import main
from tests.unit.kubectl_loadline.api_server import HPAS, LAS, autoscaler, within
from tests.unit.kubectl_loadline.commands.test_why import SCALER
from tests.unit.scaler.control.world import SPEC

SCALE = {
    "kind": "Scale",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 3},
    "status": {"replicas": 3, "selector": "app=web"},
}
APPS = {
    "groupVersion": "apps/v1",
    "resources": [
        {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get"]}
    ],
}
GROUP = {
    "name": "apps",
    "versions": [{"groupVersion": "apps/v1", "version": "v1"}],
    "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"},
}


@pytest.fixture
def shop(api_server):
    """An HPA and a LoadAutoscaler of a Deployment `web`, and a scaler of LoadAutoscalers."""
    web = {**autoscaler("web"), "spec": SPEC}
    api_server.documents |= {
        "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
        "/api": {"versions": ["v1"]},
        "/api/v1": {"groupVersion": "v1", "resources": []},
        "/apis": {"groups": [GROUP]},
        "/apis/apps/v1": APPS,
        "/apis/apps/v1/deployments": {"items": [SCALER]},
        "/apis/apps/v1/namespaces/shop/deployments/web/scale": SCALE,
        "/api/v1/namespaces/shop/pods": {"items": []},
        f"{within(HPAS, 'shop')}/web": web,
        f"{within(LAS, 'shop')}/web": web,
    }
    return api_server


def test_for_an_hpa_of_kube_controller_manager_the_flags_are_assumed(shop, capsys):
    assert main(["simulate", "hpa/web", "--metric=queue=50"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("shop/web goes from 3 to 5 replicas.\n")
    assert found.err == (
        "Default algorithm flags are assumed: kube-controller-manager scales this HPA.\n"
    )


def test_a_metric_that_failed_names_the_command_that_explains_it(shop, capsys):
    assert main(["simulate", "hpa/web"]) == 0
    hint = "See: kubectl loadline explain hpa/web -n shop"
    assert capsys.readouterr().out.splitlines()[-1] == hint
    assert main(["simulate", "hpa/web", "--metric=queue=fails"]) == 0
    assert hint not in capsys.readouterr().out


def test_a_metric_that_does_not_exist_is_refused_with_the_most_similar(shop, capsys):
    assert main(["simulate", "hpa/web", "--metric=qeue=50"]) == 2
    assert "unknown metric 'qeue': did you mean queue?\n" in capsys.readouterr().err


def test_with_flags_that_only_the_pods_know_defaults_are_assumed(shop, capsys):
    with_variable = copy.deepcopy(SCALER)
    (container,) = with_variable["spec"]["template"]["spec"]["containers"]
    container["args"] = [*container.get("args", ()), "--tolerance", "$(TOLERANCE)"]
    named = "monitoring/loadline-scaler"
    shop.documents["/apis/apps/v1/namespaces/monitoring/deployments/loadline-scaler"] = (
        with_variable
    )
    assert main(["simulate", "la/web", "--metric=queue=50", f"--scaler={named}"]) == 0
    found = capsys.readouterr()
    assert "from 3 to 5 replicas" in found.out
    assert found.err.startswith("Default algorithm flags are assumed: the flags of the Deployment ")
    assert "argument --tolerance: '$(TOLERANCE)' is not a ratio" in found.err
