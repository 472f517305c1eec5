"""`kubectl loadline why` as a whole command line."""

import pytest

from kubectl_loadline.program import main
from tests.unit.kubectl_loadline.api_server import HPAS, LAS, autoscaler, within

SCALER = {
    "metadata": {"namespace": "monitoring", "name": "loadline-scaler"},
    "spec": {
        "selector": {"matchLabels": {"app": "scaler"}},
        "template": {
            "metadata": {"labels": {"app": "scaler"}},
            "spec": {"containers": [{"command": ["loadline-scaler"]}]},
        },
    },
}


@pytest.fixture
def shop(api_server):
    """An HPA and a LoadAutoscaler, and a scaler of LoadAutoscalers."""
    api_server.documents["/apis/apps/v1/deployments"] = {"items": [SCALER]}
    api_server.documents[f"{within(HPAS, 'shop')}/web"] = autoscaler("web")
    worker = autoscaler("worker")
    worker["status"]["decision"] = {"summary": "stays at 3 replicas"}
    api_server.documents[f"{within(LAS, 'shop')}/worker"] = worker
    return api_server


def test_an_hpa_of_kube_controller_manager_has_a_decision_in_simulate(shop, capsys):
    assert main(["why", "web"]) == 1
    assert capsys.readouterr().err == (
        "kubectl loadline why: kube-controller-manager scales hpa/web, unless its HPA controller is disabled.\n"
        "To compute its decision here: kubectl loadline simulate hpa/web -n shop\n"
    )


def test_without_a_scaler_the_status_is_reported(shop, capsys):
    shop.documents["/apis/apps/v1/deployments"] = {"items": []}
    assert main(["why", "worker"]) == 1
    reported = capsys.readouterr().err
    assert "install charts/scaler" in reported
    assert "From its status: shop/worker stays at 3 replicas.\n" in reported


def test_a_workload_and_a_flag_of_lists_are_refused(capsys):
    for arguments, reported in (
        (
            ["deployment/web"],
            "'deployment/web' is a workload: write the name of its autoscaler",
        ),
        (["worker", "-A"], "unknown flag -A\n"),
    ):
        with pytest.raises(SystemExit):
            main(["why", *arguments])
        assert reported in capsys.readouterr().err
