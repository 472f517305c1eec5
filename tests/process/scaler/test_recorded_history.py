"""A new forecast that learns from a real Prometheus with five recorded days, by the query of the real adapter."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from testbed import assets, ports
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.e2e.scaler_objects import Workspace

DAYS = 5
RECORDED = "recorded"
ALONE = "alone"
# The fixture `direct_scaler` exposes 10 for its autoscaler, whose target is 10 per replica.
USUAL, RAISED = 10, 30
# Of the minutes after now, every day. The second time, so that the last 24 hours have one whole rise.
RAISED_MINUTES = {*range(3, 60), *range(600, 660)}
QUICK = "--sync-period=500ms"


def openmetrics(exporter: Exporter) -> str:
    """As the scrapes of the exporter would have recorded it; another namespace has another load."""
    now = int(time.time() // 60)
    lines = ["# TYPE direct_waiting gauge"]
    for namespace, factor in ((RECORDED, 1), ("other", 7)):
        labels = f'namespace="{namespace}",instance="{exporter.target}",job="testbed"'
        for minute in range(now - DAYS * MINUTES_PER_DAY, now):
            is_raised = (minute - now) % MINUTES_PER_DAY in RAISED_MINUTES
            value = factor * (RAISED if is_raised else USUAL)
            lines.append(f"direct_waiting{{{labels}}} {value} {minute * 60}")
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def prometheus(
    exporter: Exporter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrometheusServer]:
    """It has five days, and scrapes the exporter from now on."""
    directory: Path = tmp_path_factory.mktemp("recorded")
    recorded = directory / "recorded.txt"
    recorded.write_text(openmetrics(exporter))
    command = [
        assets.find("promtool"),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "--max-block-duration=24h",
        recorded,
    ]
    subprocess.run([*command, directory / "storage"], check=True, capture_output=True)
    with PrometheusServer(directory=directory) as server:
        server.add_target(exporter.target)
        yield server


def test_a_new_forecast_is_reliable_within_seconds_and_says_what_it_would_add(
    direct_scaler, cluster, adapter, prometheus
):
    url = f"--prometheus-url={prometheus.url}"
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, url, namespace=RECORDED, forecast="DryRun")
    workspace = Workspace(cluster, RECORDED)
    message = workspace.has_condition(
        # Some seconds of processor time, of which a busy machine has few.
        "ForecastReliable",
        "True",
        "Reliable",
        deadline_seconds=120.0,
    )
    assert "learned from 5.0 days of recorded history" in message
    status = workspace.status()
    assert status["forecast"]["replicas"] == 3
    assert status["forecast"]["addedReplicas"] == 2
    assert status["forecast"]["last24Hours"]["addedReplicaMinutes"] > 0
    assert workspace.replicas() == 1
    assert workspace.has_event("ForecastLearnedHistory", lambda message: "may act" in message)
    assert scaler.metric('forecast_warm_starts_total{result="learned"}') == 1


def test_without_prometheus_the_object_is_reconciled_and_the_condition_says_why(
    direct_scaler, cluster, adapter
):
    url = f"--prometheus-url=http://me:s3cret@127.0.0.1:{ports.reserve()}"
    scaler = direct_scaler(QUICK, *adapter.scaler_flags, url, namespace=ALONE, forecast="Add")
    scaler.set_waiting(40)
    scaler.scales_to(4)
    scaler.reaches('forecast_warm_starts_total{result="failed"}', 1)

    def tells() -> bool:
        status, reason, message = Workspace(cluster, ALONE).conditions()["ForecastReliable"]
        assert (status, reason) == ("False", "Learning")
        assert "recorded history is not used: Prometheus at http://127.0.0.1:" in message
        assert "s3cret" not in message
        return True

    until(tells, what="the reason in the condition")
    scaler.set_waiting(20)
    scaler.scales_to(2)
    log = scaler.program.process.log()
    assert log.count("learns without recorded history") == 1
    assert "s3cret" not in log
