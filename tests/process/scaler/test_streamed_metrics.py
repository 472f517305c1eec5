"""Metrics that the real adapter streams to the real scaler, and what happens when the stream fails."""

from testbed.waiting import until
from tests.process.scaler.test_direct_connection import QUICK

STREAM = ("--stream-metrics",)
SENT, STREAMED = (
    f'metrics_api_requests_total{{group="external.metrics.k8s.io",result="{result}"}}'
    for result in ("sent", "streamed")
)


def test_a_metric_that_does_not_change_is_not_requested_again_and_a_change_scales(
    direct_scaler, adapter
):
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, *STREAM)
    scaler.reaches(STREAMED, 5)
    assert scaler.metric("num_horizontal_pod_autoscalers") == 1
    sent = scaler.metric(SENT)
    scaler.reaches(STREAMED, scaler.metric(STREAMED) + 20)
    assert scaler.metric(SENT) - sent <= 2, "a busy machine may delay a confirmation"
    for value, replicas in ((40, 4), (20, 2)):
        scaler.set_waiting(value)
        scaler.scales_to(replicas)
    assert scaler.metric("repeated_decisions_total") > 0


def test_when_the_adapter_is_killed_the_metric_is_requested_and_then_streamed_again(
    direct_scaler, adapter
):
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, *STREAM)
    scaler.reaches(STREAMED, 1)
    adapter.process.kill()
    until(lambda: scaler.metric("stream_connected") == 0, what="the end of the stream")
    sent = scaler.metric(SENT)
    scaler.reaches(SENT, sent + 1)
    scaler.set_waiting(30)
    adapter.restart()
    scaler.scales_to(3)
    scaler.reaches("stream_connected", 1)
    scaler.reaches(STREAMED, scaler.metric(STREAMED) + 1)
    assert scaler.program.process.exit_code is None


def test_after_the_permission_is_revoked_a_streamed_metric_scales_nothing(direct_scaler, adapter):
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, *STREAM)
    scaler.reaches(STREAMED, 1)
    scaler.allow_metrics(False)
    until(
        lambda: "is forbidden" in scaler.program.process.log(),
        what="the refusal in the log",
        deadline_seconds=60,
    )
    scaler.set_waiting(60)
    streamed = scaler.metric(STREAMED)
    scaler.reaches(SENT, scaler.metric(SENT) + 5)
    assert scaler.metric(STREAMED) == streamed
    scaler.scales_to(1)
    scaler.allow_metrics(True)
    scaler.scales_to(6)


def test_a_scaler_without_the_permission_for_the_stream_requests_its_metrics(
    direct_scaler, adapter
):
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, *STREAM, may_stream=False)
    scaler.set_waiting(40)
    scaler.scales_to(4)
    assert scaler.metric(STREAMED) == 0
    assert "metrics are not streamed" in scaler.program.process.log()


def test_after_a_restart_of_kube_apiserver_metrics_are_streamed_again(
    direct_scaler, adapter, cluster
):
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, *STREAM)
    scaler.reaches(STREAMED, 1)
    cluster.restart_apiserver()
    scaler.set_waiting(50)
    scaler.scales_to(5)
    scaler.reaches(STREAMED, scaler.metric(STREAMED) + 5)


def test_a_changed_metric_brings_the_reconcile_forward(direct_scaler, adapter):
    flags = ("--sync-period=20s", *adapter.scaler_flags, *STREAM, "--reconcile-on-change")
    scaler = direct_scaler(*flags)
    scaler.reaches(SENT, 1)
    until(lambda: adapter_watches(adapter, scaler), what="the metric to be watched")
    scaler.set_waiting(40)
    scaler.scales_to(4)
    assert scaler.metric("reconciles_brought_forward_total") >= 1


def adapter_watches(adapter, scaler) -> bool:
    assert scaler.metric("stream_connected") == 1
    return scaler.metric("streamed_metrics") >= 1
