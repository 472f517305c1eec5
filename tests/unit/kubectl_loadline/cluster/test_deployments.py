"""The Deployments of the programs, by what they run; their ports, flags and pods."""

import msgspec
import pytest

from kubectl_loadline.cluster.deployments import (
    Deployment,
    Pod,
    reconciles,
    running,
    serving,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS


def deployment(
    command="loadline-scaler", *args, namespace="monitoring", name="loadline-scaler", **more
):
    container = {"command": [command] if command else [], "args": list(args), **more}
    volumes = [{"name": "tmp"}, {"name": "config", "configMap": {"name": "rules"}}]
    pod = {"containers": [container], "serviceAccountName": "account", "volumes": volumes}
    spec = {"selector": {"matchLabels": {"app": name}}, "template": {"spec": pod}}
    metadata = {"name": name, "namespace": namespace}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Deployment)


def scaler(*args):
    return running([deployment("loadline-scaler", *args)], "scaler")[0]


def test_the_command_of_a_container_says_what_a_deployment_runs():
    found = running(
        [deployment(name="b"), deployment("loadline-adapter"), deployment(name="a")], "scaler"
    )
    assert [str(each) for each in found] == ["Deployment monitoring/a", "Deployment monitoring/b"]
    assert found[0].service_account == "account"
    assert found[0].config_maps == ("rules",)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("registry.example.com/loadline-autoscaler:0.1.0", True),
        ("registry.example.com:5000/team/loadline@sha256:12", True),
        ("registry.example.com/loadline/web:0.1.0", False),
        ("registry.k8s.io/prometheus-adapter/prometheus-adapter:v0.12.0", False),
    ],
)
def test_manifests_of_prometheus_adapter_name_the_image_without_a_command(image, expected):
    without_command = deployment(
        None, "/adapter", "--secure-port=6443", name="prometheus-adapter", image=image
    )
    assert bool(running([without_command], "adapter")) is expected
    assert not running([without_command], "scaler")
    assert not running([deployment("/bin/sh", image=image)], "adapter")


@pytest.mark.parametrize(
    ("arguments", "ports", "expected"),
    [
        pytest.param(["--secure-port=8443"], [], 8443, id="flag"),
        pytest.param(["--secure-port=0"], [], 0, id="it does not serve"),
        pytest.param([], [{"name": "https", "containerPort": 9443}], 9443, id="port of the pod"),
        pytest.param([], [], 10443, id="default"),
    ],
)
def test_the_port_is_that_of_the_flag(arguments, ports, expected):
    found = running([deployment("loadline-scaler", *arguments, ports=ports)], "scaler")
    assert found[0].port == expected


@pytest.mark.parametrize(
    ("arguments", "kind", "expected"),
    [
        ([], LOAD_AUTOSCALERS, True),
        ([], HORIZONTAL_POD_AUTOSCALERS, False),
        (["--watch=horizontalpodautoscalers"], HORIZONTAL_POD_AUTOSCALERS, True),
        (["--namespace=billing,shop"], LOAD_AUTOSCALERS, True),
        (["--namespace=billing"], LOAD_AUTOSCALERS, False),
    ],
)
def test_the_flags_say_what_a_scaler_reconciles(arguments, kind, expected):
    assert reconciles(scaler(*arguments), kind, "shop") is expected


def pod(name, *, ready=True, phase="Running", **metadata):
    conditions = [{"type": "Ready", "status": str(ready)}]
    document = {
        "metadata": {"name": name, **metadata},
        "status": {"phase": phase, "conditions": conditions},
    }
    return msgspec.convert(document, Pod)


def test_pods_that_run_may_answer_and_those_that_are_ready_come_first():
    pods = [
        pod("a", ready=False),
        pod("b"),
        pod("c", phase="Pending"),
        pod("d", deletionTimestamp="2026-01-01T00:00:00Z"),
    ]
    assert serving(pods) == ("b", "a")
