"""The rule of docs/keda.md, which makes a metric of a Deployment of a query without labels, on a real Prometheus."""

from tests.shell import Shell


def test_the_query_of_a_trigger_becomes_a_metric_of_a_deployment(
    tmp_path, exporter, prometheus, documented_blocks
):
    [values] = documented_blocks
    exporter.set("queue_messages_ready", 60, namespace="other", queue="mail")
    prometheus.wait_for("queue_messages_ready")
    shell = Shell(tmp_path, programs={})
    (tmp_path / "keda-metrics.yaml").write_text(values)
    printed = shell.run(
        f"loadline-adapter check keda-metrics.yaml --prometheus-url={prometheus.url}"
    )
    exporter.remove("queue_messages_ready", namespace="other")
    assert "shop_worker_0 of deployment.apps shop/worker = 60" in printed
