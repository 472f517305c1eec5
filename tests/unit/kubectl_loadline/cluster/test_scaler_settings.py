"""The algorithm flags of a running scaler, and the version of the HPA controller that it equals."""

import pytest

from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.scaler_settings import UnknownFlags, settings_in_cluster
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.api.upstream import NEWEST
from tests.fakes.scaler import FakeKube
from wire.api.meta import LabelSelector


def scaler(*arguments):
    return RunningProgram(
        program="scaler",
        namespace="monitoring",
        name="loadline-scaler",
        service_account="account",
        selector=LabelSelector(),
        pod_labels={},
        arguments=arguments,
        port=10443,
    )


def server(minor):
    kube = FakeKube()
    kube.serve("/version", {"major": "1", "minor": str(minor)})
    return kube


async def test_the_algorithm_flags_are_those_of_the_running_scaler():
    running = scaler("run", "--tolerance=0.2", "--leader-elect", "--downscale-stabilization=1m")
    found = await settings_in_cluster(FakeKube(), running, LOAD_AUTOSCALERS)
    assert found.tolerance == 0.2
    assert found.downscale_stabilization_seconds == 60
    assert found.kind is LOAD_AUTOSCALERS
    assert (await settings_in_cluster(FakeKube(), None, LOAD_AUTOSCALERS)).tolerance == 0.1


@pytest.mark.parametrize("running", [None, scaler("run")])
async def test_an_hpa_is_decided_as_by_the_controller_of_the_api_servers_version(running):
    found = await settings_in_cluster(server(35), running, HORIZONTAL_POD_AUTOSCALERS)
    assert found.upstream.minor == 35


async def test_the_flag_of_the_scaler_overrides_the_version_of_the_api_server():
    running = scaler("run", "--kubernetes-version=1.36")
    found = await settings_in_cluster(server(35), running, HORIZONTAL_POD_AUTOSCALERS)
    assert found.upstream.minor == 36


async def test_a_loadautoscaler_is_decided_as_by_the_newest_controller():
    kube = server(35)
    found = await settings_in_cluster(kube, scaler("run"), LOAD_AUTOSCALERS)
    assert found.upstream.minor == NEWEST.minor
    assert kube.requested == []


async def test_a_flag_whose_value_only_the_pods_know_is_named():
    running = scaler("run", "--tolerance=$(TOLERANCE)")
    with pytest.raises(UnknownFlags, match=r"Deployment monitoring/loadline-scaler .*--tolerance"):
        await settings_in_cluster(FakeKube(), running, LOAD_AUTOSCALERS)
