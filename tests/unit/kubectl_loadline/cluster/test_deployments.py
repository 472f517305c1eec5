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
    container = {"command": command.split() if command else [], "args": list(args), **more}
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
        pytest.param(["--secure-port", "8443"], [], 8443, id="flag in two words"),
        pytest.param(["--secure-port=0"], [], 0, id="it does not serve"),
        pytest.param([], [{"name": "https", "containerPort": 9443}], 9443, id="port of the pod"),
        pytest.param([], [], 10443, id="default"),
    ],
)
def test_the_port_is_that_of_the_flag(arguments, ports, expected):
    found = running([deployment("loadline-scaler", *arguments, ports=ports)], "scaler")
    assert found[0].port == expected


def arguments_of(*words, command="loadline-scaler", env=()):
    found = deployment(command, *words, env=list(env))
    return running([found], "scaler")[0].arguments


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--tolerance", "0.3"], ("--tolerance=0.3",)),
        (["--leader-elect", "run"], ("--leader-elect", "run")),
        (["run", "--leader-elect", "--tolerance", "0.3"], ("run", "--leader-elect", "--tolerance=0.3")),
        (["--sync_period=1m", "-v=6"], ("--sync-period=1m", "-v=6")),
    ],
)  # fmt: skip
def test_a_flag_and_its_value_may_be_two_words(given, expected):
    assert arguments_of(*given) == expected


def test_arguments_may_be_in_the_command():
    assert arguments_of("--watch=x", command="loadline-scaler run --tolerance 0.3") == (
        "run",
        "--tolerance=0.3",
        "--watch=x",
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("--tolerance=$(T)", "--tolerance=0.3"),
        ("--tolerance=$(INDIRECT)5", "--tolerance=0.35"),
        ("--certificate-config-map=$(NAMESPACE)/x", "--certificate-config-map=monitoring/x"),
        ("--tolerance=$(SECRET)", "--tolerance=$(SECRET)"),
        ("--tolerance=$(NONE)", "--tolerance=$(NONE)"),
        ("--x=$$(T)", "--x=$(T)"),
    ],
)
def test_variables_are_expanded_as_by_the_kubelet(word, expected):
    env = [
        {"name": "T", "value": "0.3"},
        {"name": "INDIRECT", "value": "$(T)"},
        {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
    ]
    assert arguments_of(word, env=env) == (expected,)


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
