"""Whatever Prometheus does, the adapter stays up, says what failed and recovers by itself."""

import time

import pytest

from testbed import web
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until
from tests.process.adapter.conftest import Asker, answers

FAULTS = [
    pytest.param("hangs", "did not respond within 1 s", id="hangs"),
    pytest.param("garbage", "is not Prometheus' JSON", id="garbage"),
    pytest.param("503", "answered HTTP 503", id="503"),
    pytest.param("half a body", "was cut off", id="half a body"),
    pytest.param("hangs up", "disconnected", id="hangs up"),
]


@pytest.mark.parametrize(("fault", "cause"), FAULTS)
def test_a_fault_of_prometheus_is_told_and_passes(
    quick_adapter, gateway, token, queue, fault, cause
):
    asker = Asker(quick_adapter(gateway.url), token)
    answers(asker, queue, "12")
    gateway.fault = fault

    def told() -> str:
        code, refused = asker.get(queue)
        assert code == 500
        return refused["message"]

    message = until(told, what="the fault to be told")
    assert message.startswith("Internal error occurred: unable to fetch metrics: externalRules[0]")
    assert "sum(queue_length{" in message
    assert cause in message
    # What was discovered before is still there, and so is the program.
    assert asker.adapter.get("/readyz").status == 200
    gateway.fault = "none"
    gateway.let_go()
    answers(asker, queue, "12")


@pytest.mark.parametrize(("fault", "cause"), [FAULTS[0], FAULTS[2]])
def test_who_asks_a_failing_prometheus_is_answered_in_time(
    quick_adapter, gateway, token, queue, fault, cause
):
    asker = Asker(quick_adapter(gateway.url), token)
    answers(asker, queue, "12")
    gateway.fault = fault
    until(lambda: asker.get(queue)[0] == 500, what="the fault to be told")
    started = time.monotonic()
    assert asker.get(queue)[0] == 500
    assert time.monotonic() - started < 2.5


def test_a_start_before_prometheus_is_told_and_mended_soon(
    quick_adapter, token, tmp_path, exporter, namespace
):
    exporter.set("queue_length", 7, namespace=namespace)
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue_length"
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    late = PrometheusServer(options, directory=tmp_path / "late")
    late.add_target(exporter.target)
    # An hour between listings: what is mended sooner is mended by the retry.
    hourly = ("--metrics-relist-interval=1h", "--metrics-max-age=1h")
    adapter = quick_adapter(late.url, *hourly, wait=False)
    asker = Asker(adapter, token)
    anybody = web.trusting(None)
    adapter.process.wait_until(
        lambda: web.is_ok(adapter.port, "/livez", tls=anybody), what="a listener"
    )

    def tells() -> bool:
        readiness = asker.adapter.get("/readyz?verbose")
        assert readiness.status == 500
        assert "[-]discovery failed: externalRules[0]: " in readiness.text
        assert "Connect" in readiness.text or "connect" in readiness.text
        code, refused = asker.get(path)
        assert code == 503
        assert "the series of externalRules[0] are not known" in refused["message"]
        return True

    asker.adapter.process.wait_until(tells, what="an honest /readyz", deadline_seconds=20)
    with late:
        late.wait_for("queue_length")
        asker.adapter.wait_until_ready(15)
        assert asker.adapter.process.exit_code is None


def test_a_restart_of_prometheus_is_survived(quick_adapter, token, tmp_path, exporter, namespace):
    exporter.set("queue_length", 7, namespace=namespace)
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/queue_length"
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with PrometheusServer(options, directory=tmp_path / "own") as own:
        own.add_target(exporter.target)
        own.wait_for("queue_length")
        asker = Asker(quick_adapter(own.url), token)
        answers(asker, path, "7")
        own.kill()
        code, refused = until(
            lambda: (answer := asker.get(path))[0] == 500 and answer, what="the failure"
        )
        assert code == 500
        assert "onnect" in refused["message"]
        own.start()
        answers(asker, path, "7", deadline_seconds=30)


def test_a_restart_of_the_api_server_is_survived(quick_adapter, gateway, token, queue, cluster):
    asker = Asker(quick_adapter(gateway.url), token)
    answers(asker, queue, "12")
    cluster.restart_apiserver()
    answers(asker, queue, "12", deadline_seconds=30)


def test_fifty_questions_at_once_are_one_query(quick_adapter, gateway, token, queue):
    asker = Asker(
        quick_adapter(
            gateway.url,
            "--metrics-relist-interval=10m",
            "--metrics-max-age=10m",
            "--metrics-freshness=30s",
        ),
        token,
    )
    answers(asker, queue, "12")
    before = gateway.passed
    for _ in range(50):
        assert asker.get(queue)[0] == 200
    assert gateway.passed == before
    assert asker.metric('loadline_adapter_evaluations_total{source="fresh"}') >= 50
