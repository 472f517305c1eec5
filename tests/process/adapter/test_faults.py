"""Whatever Prometheus does, the adapter stays up, says what failed and recovers."""

import time

import pytest

from testbed import web
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests.process.adapter.conftest import AdapterClient, answers

FAULTS = [
    pytest.param("hangs", "did not respond within 1 s", id="hangs"),
    pytest.param("garbage", "is not Prometheus' JSON", id="garbage"),
    pytest.param("503", "responded with HTTP 503", id="503"),
    pytest.param("half a body", "was cut off", id="half a body"),
    pytest.param("hangs up", "disconnected", id="hangs up"),
]


@pytest.mark.parametrize(("fault", "cause"), FAULTS)
def test_a_fault_of_prometheus_is_reported_and_passes(
    quick_adapter, gateway, token, queue, fault, cause
):
    client = AdapterClient(quick_adapter(gateway.url), token)
    answers(client, queue, "12")
    gateway.fault = fault

    def reported() -> str:
        code, refused = client.get(queue)
        assert code == 500
        return refused["message"]

    message = until(reported, what="the fault to be reported")
    assert message.startswith("Internal error occurred: unable to fetch metrics: externalRules[0]")
    assert "sum(queue_length{" in message
    assert cause in message
    # What was discovered before is still there, and so is the program.
    assert client.adapter.get("/readyz").status == 200
    gateway.fault = "none"
    gateway.let_go()
    answers(client, queue, "12")


@pytest.mark.parametrize(("fault", "cause"), [FAULTS[0], FAULTS[2]])
def test_a_client_gets_an_error_in_time_when_prometheus_fails(
    quick_adapter, gateway, token, queue, fault, cause
):
    client = AdapterClient(quick_adapter(gateway.url), token)
    answers(client, queue, "12")
    gateway.fault = fault
    until(lambda: client.get(queue)[0] == 500, what="the fault to be reported")
    started = time.monotonic()
    assert client.get(queue)[0] == 500
    assert time.monotonic() - started < 2.5


@pytest.mark.deviation("early-retry")
def test_a_start_before_prometheus_is_reported_and_recovers_soon(
    quick_adapter, token, tmp_path, exporter, namespace
):
    exporter.set("queue_length", 7, namespace=namespace)
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue_length"
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    late = PrometheusServer(options, directory=tmp_path / "late")
    late.add_target(exporter.target)
    # An hour between listings: what recovers sooner recovers by the retry.
    hourly = ("--metrics-relist-interval=1h", "--metrics-max-age=1h")
    adapter = quick_adapter(late.url, *hourly, wait=False)
    client = AdapterClient(adapter, token)
    any_server = web.trusting(None)
    adapter.process.wait_until(
        lambda: web.is_ok(adapter.port, "/livez", tls=any_server), what="a listener"
    )

    def reports_it() -> bool:
        assert "[-]discovery failed: reason withheld" in client.adapter.get("/readyz").text
        readiness = client.adapter.get("/readyz?verbose", Authorization=f"Bearer {token}")
        assert readiness.status == 500
        assert "[-]discovery failed: externalRules[0]: " in readiness.text
        assert "Connect" in readiness.text or "connect" in readiness.text
        code, refused = client.get(path)
        assert code == 503
        assert "the series of externalRules[0] are not known" in refused["message"]
        return True

    client.adapter.process.wait_until(reports_it, what="an honest /readyz", deadline_seconds=20)
    with late:
        late.wait_for("queue_length")
        client.adapter.wait_until_ready(15)
        assert client.adapter.process.exit_code is None


def test_a_restart_of_prometheus_is_survived(quick_adapter, token, tmp_path, exporter, namespace):
    exporter.set("queue_length", 7, namespace=namespace)
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue_length"
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with PrometheusServer(options, directory=tmp_path / "own") as own:
        own.add_target(exporter.target)
        own.wait_for("queue_length")
        client = AdapterClient(quick_adapter(own.url), token)
        answers(client, path, "7")
        own.kill()
        code, refused = until(
            lambda: (answer := client.get(path))[0] == 500 and answer, what="the failure"
        )
        assert code == 500
        assert "onnect" in refused["message"]
        own.start()
        answers(client, path, "7", deadline_seconds=30)


def test_a_restart_of_the_api_server_is_survived(quick_adapter, gateway, token, queue, cluster):
    client = AdapterClient(quick_adapter(gateway.url), token)
    answers(client, queue, "12")
    cluster.restart_apiserver()
    answers(client, queue, "12", deadline_seconds=30)


def test_fifty_requests_at_once_are_one_query(quick_adapter, gateway, token, queue):
    client = AdapterClient(
        quick_adapter(
            gateway.url,
            "--metrics-relist-interval=10m",
            "--metrics-max-age=10m",
            "--metrics-freshness=30s",
        ),
        token,
    )
    answers(client, queue, "12")
    before = gateway.passed
    for _ in range(50):
        assert client.get(queue)[0] == 200
    assert gateway.passed == before
    assert client.metric('loadline_adapter_evaluations_total{source="fresh"}') >= 50
