"""Metrics that the real scaler reads directly from the real adapter, and the cases in which it must not."""

from testbed import ports
from testbed.direct_adapter import NAMESPACE, SERVICE
from testbed.programs import start_program
from testbed.waiting import until

QUICK = "--sync-period=500ms"
REQUESTED = "--stream-metrics=never"
CONNECTED = f'direct_connection{{service="{NAMESPACE}/{SERVICE}"}}'
ANSWERED = 'direct_requests_total{result="answered"}'
FAILED = 'direct_requests_total{result="failed"}'


def test_a_metric_is_read_directly_and_scales_as_through_kube_apiserver(direct_scaler, adapter):
    scaler = direct_scaler(QUICK, REQUESTED, *adapter.scaler_flags)
    scaler.set_waiting(40)
    scaler.scales_to(4)
    scaler.reaches(ANSWERED, 1)
    assert scaler.metric(CONNECTED) == 1


def test_while_the_adapter_restarts_the_metric_is_read_through_kube_apiserver(
    direct_scaler, adapter
):
    scaler = direct_scaler(QUICK, REQUESTED, *adapter.scaler_flags)
    scaler.reaches(ANSWERED, 1)
    adapter.process.stop()
    until(lambda: scaler.metric(CONNECTED) == 0, what="the end of the connection")
    adapter.restart()
    scaler.set_waiting(30)
    scaler.scales_to(3)
    answered = scaler.metric(ANSWERED)
    scaler.reaches(ANSWERED, answered + 1)


def test_no_token_is_sent_to_a_server_with_another_certificate(
    direct_scaler, cluster, prometheus, adapter, tmp_path
):
    (tmp_path / "config.yaml").write_text("rules: []")
    port = ports.reserve()
    with start_program(
        "adapter",
        f"--config={tmp_path / 'config.yaml'}",
        f"--lister-kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={prometheus.url}",
        log_directory=tmp_path,
        port=port,
    ):
        scaler = direct_scaler(
            QUICK,
            f"--adapter-service={NAMESPACE}/{SERVICE}",
            f"--adapter-url=https://127.0.0.1:{port}",
        )
        scaler.set_waiting(50)
        scaler.scales_to(5)
    assert scaler.metric(ANSWERED) == 0
    assert "certificate verify failed" in scaler.program.process.log()


def test_after_the_permission_is_revoked_nothing_is_scaled_on_the_metric(direct_scaler, adapter):
    scaler = direct_scaler(QUICK, REQUESTED, *adapter.scaler_flags)
    scaler.set_waiting(20)
    scaler.scales_to(2)
    scaler.allow_metrics(False)
    scaler.reaches(FAILED, 1)
    scaler.set_waiting(60)
    until(lambda: "is forbidden" in scaler.program.process.log(), what="the refusal in the log")
    scaler.scales_to(2)
    scaler.allow_metrics(True)
    scaler.scales_to(6)
