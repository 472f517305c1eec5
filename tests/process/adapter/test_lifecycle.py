"""Starting, reloading and ending, as an operator sees it."""

import signal
import subprocess
import sys
import threading

import pytest

from testbed.waiting import until
from tests.process.adapter.conftest import CONFIGURATION, AdapterClient, answers


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "adapter", *arguments],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


@pytest.mark.parametrize(
    ("configuration", "flags", "reported"),
    [
        pytest.param("rules: 7", (), "config.yaml: line 1: rules", id="configuration"),
        pytest.param(None, (), "cannot be read", id="no configuration"),
        pytest.param(CONFIGURATION, ("--lister-kubeconfig=/absent",), "/absent", id="kubeconfig"),
        pytest.param(CONFIGURATION, ("--prometheus-token-file=/absent",), "/absent", id="token"),
        pytest.param(CONFIGURATION, ("--tls-cert-file=/absent",), "tls", id="certificate"),
    ],
)
def test_a_wrong_start_is_reported_with_exit_code_2(
    cluster, tmp_path, configuration, flags, reported
):
    file = tmp_path / "config.yaml"
    if configuration is not None:
        file.write_text(configuration)
    kubeconfig = f"--lister-kubeconfig={cluster.kubeconfig}"
    ended = run(f"--config={file}", kubeconfig, "--prometheus-url=http://127.0.0.1:9", *flags)
    assert ended.returncode == 2
    assert reported in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_version_and_every_flag_are_printed():
    assert run("--version").stdout.startswith("loadline-adapter ")
    assert "--prometheus-url" in run("--help").stdout


def test_a_new_configuration_becomes_active_and_a_broken_one_does_not(
    quick_adapter, prometheus, token, queue, config
):
    client = AdapterClient(quick_adapter(prometheus.url), token)
    answers(client, queue, "12")
    generation = "loadline_adapter_configuration_generation"
    assert client.metric(generation) == 1

    config.write_text(CONFIGURATION.replace("sum(", "2 * sum("))
    answers(client, queue, "24")
    assert client.metric(generation) == 2

    config.write_text(CONFIGURATION.replace("seriesQuery", "seriesQery"))
    accepted = "loadline_adapter_configuration_last_reload_successful"
    until(lambda: client.metric(accepted) == 0, what="the refusal")
    assert "seriesQery" in client.adapter.process.log()
    answers(client, queue, "24")
    readiness = client.adapter.get("/readyz?verbose", Authorization=f"Bearer {token}")
    assert readiness.status == 200
    assert "[!]configuration: " in readiness.text
    assert "seriesQery" in readiness.text

    config.write_text(CONFIGURATION.replace("sum(", "3 * sum("))
    answers(client, queue, "36")
    assert client.metric(accepted) == 1
    assert client.metric(generation) == 3


def test_groups_appear_and_disappear_with_the_configuration(
    quick_adapter, prometheus, token, config
):
    client = AdapterClient(quick_adapter(prometheus.url), token)

    def groups() -> list[str]:
        return [group["name"] for group in client.get("/apis")[1]["groups"]]

    assert groups() == ["external.metrics.k8s.io"]
    config.write_text(
        CONFIGURATION
        + "metrics:\n- {name: m, describes: pods, query: 'sum by (namespace, pod) (m)'}\n"
    )
    both = ["custom.metrics.k8s.io", "external.metrics.k8s.io"]
    until(lambda: groups() == both, what="the new group")
    listed = client.get("/apis/custom.metrics.k8s.io/v1beta1")[1]["resources"]
    assert [resource["name"] for resource in listed] == ["pods/m"]


def test_sighup_is_obeyed_at_once(quick_adapter, prometheus, token, queue, config):
    client = AdapterClient(quick_adapter(prometheus.url, "--config-poll-interval=1h"), token)
    answers(client, queue, "12")
    config.write_text(CONFIGURATION.replace("sum(", "2 * sum("))
    client.adapter.process.send_signal(signal.SIGHUP)
    answers(client, queue, "24")


def test_a_request_under_way_is_finished_at_the_end(quick_adapter, gateway, token, queue):
    client = AdapterClient(
        quick_adapter(gateway.url, "--prometheus-timeout=4s", "--metrics-freshness=0s"), token
    )
    answers(client, queue, "12")
    gateway.fault = "hangs"
    got: list[int] = []
    request_thread = threading.Thread(target=lambda: got.append(client.get(queue)[0]))
    in_flight = "loadline_adapter_evaluations_total"
    before = client.metric(in_flight + '{source="sent"}')
    request_thread.start()
    until(lambda: client.metric(in_flight + '{source="sent"}') > before, what="the query")
    client.adapter.process.send_signal(signal.SIGTERM)
    request_thread.join(timeout=10)
    assert got == [500]  # Prometheus did not answer, but the adapter did.
    gateway.let_go()
    assert client.adapter.process.wait(15) == 0


def test_the_log_is_one_line_per_event(quick_adapter, prometheus):
    log = quick_adapter(prometheus.url).process.log()
    assert log
    assert all(line.startswith("time=") and 'msg="' in line for line in log.splitlines())
