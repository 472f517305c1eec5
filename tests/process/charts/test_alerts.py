"""The alert rules of both charts, with promtool: each fires on its fault, and none on healthy series."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import assets
from wire.process import go_yaml

ROOT = Path(__file__).parents[3]
FILES = {
    chart: ROOT / "charts" / chart / "files" / "alerts.yaml" for chart in ("adapter", "scaler")
}
RULES = {
    rule["alert"]: rule
    for file in FILES.values()
    for group in go_yaml.load(file.read_text())["groups"]
    for rule in group["rules"]
}
POD = 'namespace="monitoring",pod="a-0",job="loadline"'
LOAD_AUTOSCALER = 'namespace="shop",loadautoscaler="web"'

# Series in promtool's notation, one sample per minute.
HEALTHY = {
    f'loadline_adapter_build_info{{{POD},version="1"}}': "1x120",
    f"loadline_adapter_configuration_last_reload_successful{{{POD}}}": "1x120",
    f'loadline_adapter_prometheus_requests_total{{{POD},backend="default",outcome="succeeded"}}': "0+600x120",
    # One failure in an hour, as in a restart of Prometheus.
    f'loadline_adapter_prometheus_requests_total{{{POD},backend="default",outcome="failed"}}': "0x30 5x90",
    f'loadline_adapter_requests_total{{{POD},api="custom.metrics.k8s.io",code="200"}}': "0+600x120",
    f'loadline_adapter_requests_total{{{POD},api="custom.metrics.k8s.io",code="404"}}': "0+600x120",
    f'loadline_adapter_requests_total{{{POD},api="custom.metrics.k8s.io",code="500"}}': "0+6x120",
    f'loadline_adapter_request_duration_seconds_bucket{{{POD},api="a",le="0.1"}}': "0+600x120",
    f'loadline_adapter_request_duration_seconds_bucket{{{POD},api="a",le="10"}}': "0+601x120",
    f'loadline_adapter_request_duration_seconds_bucket{{{POD},api="a",le="+Inf"}}': "0+601x120",
    # Listed every ten minutes, the default of --metrics-relist-interval; one failure, which was repeated soon.
    f'loadline_adapter_discovery_last_success_timestamp_seconds{{{POD},backend="default",series_query="up"}}': "0x9 600x9 1200x9 1800x9 2400x9 3000x9 3600x9 4200x9 4800x9 5400x9 6000x9 6600x9",
    f'loadline_adapter_discovery_failures_total{{{POD},backend="default",series_query="up"}}': "0x40 1x80",
    f'loadline_adapter_objects_age_seconds{{{POD},resource="pods"}}': "60x120",
    f"loadline_adapter_crashes_total{{{POD}}}": "0x120",
    f'loadline_scaler_build_info{{{POD},version="1"}}': "1x120",
    f"loadline_scaler_leading{{{POD}}}": "1x120",
    'loadline_scaler_leading{namespace="monitoring",pod="a-1",job="loadline"}': "0x120",
    f"loadline_scaler_shards_owned{{{POD}}}": "64x120",
    'loadline_scaler_shards_owned{namespace="monitoring",pod="a-1",job="loadline"}': "0x120",
    f"loadline_scaler_shards{{{POD}}}": "64x120",
    f'loadline_scaler_cache_age_seconds{{{POD},resource="pods"}}': "60x120",
    f'loadline_scaler_reconciliations_total{{{POD},error="none"}}': "0+600x120",
    f'loadline_scaler_reconciliations_total{{{POD},error="spec"}}': "0+600x120",
    f'loadline_scaler_reconciliations_total{{{POD},error="internal"}}': "0+6x120",
    f"loadline_scaler_crashes_total{{{POD}}}": "0x120",
    f'loadline_scaler_reconcile_delay_seconds_bucket{{{POD},le="1"}}': "0+600x120",
    f'loadline_scaler_reconcile_delay_seconds_bucket{{{POD},le="15"}}': "0+601x120",
    f'loadline_scaler_reconcile_delay_seconds_bucket{{{POD},le="+Inf"}}': "0+601x120",
    f'loadline_scaler_events_dropped_total{{{POD},type="Warning",reason="queue_full"}}': "0x120",
    # Restarts of the adapter, of a minute and of five.
    f"loadline_scaler_direct_connection{{{POD},service=\"monitoring/adapter\"}}": "1x50 0x1 1x30 0x5 1x34",
    f"loadline_scaler_stream_connected{{{POD}}}": "1x50 0x1 1x30 0x5 1x34",
    # Not in use.
    'loadline_scaler_direct_connection{namespace="other",pod="a-0",job="loadline"}': "0x120",
    'loadline_scaler_stream_connected{namespace="other",pod="a-0",job="loadline"}': "0x120",
    f'kube_loadautoscaler_status_condition{{{LOAD_AUTOSCALER},condition="ScalingActive"}}': "1x120",
    f'kube_loadautoscaler_status_condition{{{LOAD_AUTOSCALER},condition="ScalingLimited"}}': "0x120",
    f"kube_loadautoscaler_status_current_replicas{{{LOAD_AUTOSCALER}}}": "3x120",
    f"kube_loadautoscaler_status_desired_replicas{{{LOAD_AUTOSCALER}}}": "3x120",
    f"kube_loadautoscaler_spec_min_replicas{{{LOAD_AUTOSCALER}}}": "1x120",
    f"kube_loadautoscaler_spec_max_replicas{{{LOAD_AUTOSCALER}}}": "9x120",
    # Scaled to zero, with the reason ScalingDisabled of an HPA.
    'kube_loadautoscaler_status_condition{namespace="shop",loadautoscaler="idle",condition="ScalingActive"}': "0x120",
    'kube_loadautoscaler_status_current_replicas{namespace="shop",loadautoscaler="idle"}': "0x120",
}  # fmt: skip

# The series that differ from the healthy ones when an alert must fire.
FAULTS: dict[str, dict[str, str]] = {
    "LoadlineAdapterDown": {f'loadline_adapter_build_info{{{POD},version="1"}}': "_x120"},
    "LoadlineAdapterConfigurationRejected": {
        f"loadline_adapter_configuration_last_reload_successful{{{POD}}}": "0x120"
    },
    "LoadlineAdapterPrometheusRequestsFail": {
        f'loadline_adapter_prometheus_requests_total{{{POD},backend="default",outcome="failed"}}': "0+60x120"
    },
    "LoadlineAdapterRequestsFail": {
        f'loadline_adapter_requests_total{{{POD},api="custom.metrics.k8s.io",code="503"}}': "0+120x120"
    },
    "LoadlineAdapterSlow": {
        f'loadline_adapter_request_duration_seconds_bucket{{{POD},api="a",le="10"}}': "0+660x120",
        f'loadline_adapter_request_duration_seconds_bucket{{{POD},api="a",le="+Inf"}}': "0+660x120",
    },
    "LoadlineAdapterSeriesOutdated": {
        f'loadline_adapter_discovery_last_success_timestamp_seconds{{{POD},backend="default",series_query="up"}}': "600x120",
        f'loadline_adapter_discovery_failures_total{{{POD},backend="default",series_query="up"}}': "0+1x120",
    },
    "LoadlineAdapterObjectsOutdated": {
        f'loadline_adapter_objects_age_seconds{{{POD},resource="pods"}}': "0+60x120"
    },
    "LoadlineAdapterCrashes": {f"loadline_adapter_crashes_total{{{POD}}}": "0x100 1x20"},
    "LoadlineScalerDown": {f'loadline_scaler_build_info{{{POD},version="1"}}': "_x120"},
    "LoadlineScalerWithoutLeader": {f"loadline_scaler_leading{{{POD}}}": "0x120"},
    "LoadlineScalerTwoLeaders": {
        'loadline_scaler_leading{namespace="monitoring",pod="a-1",job="loadline"}': "1x120"
    },
    "LoadlineScalerShardsWithoutOwner": {f"loadline_scaler_shards_owned{{{POD}}}": "63x120"},
    "LoadlineScalerShardsWithTwoOwners": {
        'loadline_scaler_shards_owned{namespace="monitoring",pod="a-1",job="loadline"}': "1x120"
    },
    "LoadlineScalerCacheOutdated": {
        f'loadline_scaler_cache_age_seconds{{{POD},resource="pods"}}': "0+60x120"
    },
    "LoadlineScalerReconcilesFail": {
        f'loadline_scaler_reconciliations_total{{{POD},error="internal"}}': "0+300x120"
    },
    "LoadlineScalerCrashes": {f"loadline_scaler_crashes_total{{{POD}}}": "0x100 1x20"},
    "LoadlineScalerDelayed": {
        f'loadline_scaler_reconcile_delay_seconds_bucket{{{POD},le="15"}}': "0+660x120",
        f'loadline_scaler_reconcile_delay_seconds_bucket{{{POD},le="+Inf"}}': "0+660x120",
    },
    "LoadlineScalerClockDifference": {f"loadline_scaler_clock_difference_seconds{{{POD}}}": "-30x120"},
    "LoadlineScalerNotDirect": {
        f"loadline_scaler_direct_connection{{{POD},service=\"monitoring/adapter\"}}": "1x60 0x60",
        f"loadline_scaler_stream_connected{{{POD}}}": "1x60 0x60",
    },
    "LoadlineScalerNotStreamed": {f"loadline_scaler_stream_connected{{{POD}}}": "1x60 0x60"},
    "LoadlineScalerEventsDropped": {
        f'loadline_scaler_events_dropped_total{{{POD},type="Warning",reason="queue_full"}}': "0+1x120"
    },
    "LoadAutoscalerNotScaling": {
        f'kube_loadautoscaler_status_condition{{{LOAD_AUTOSCALER},condition="ScalingActive"}}': "0x120"
    },
    "LoadAutoscalerMaxedOut": {
        f"kube_loadautoscaler_status_current_replicas{{{LOAD_AUTOSCALER}}}": "9x120",
        f"kube_loadautoscaler_status_desired_replicas{{{LOAD_AUTOSCALER}}}": "9x120",
    },
    "LoadAutoscalerReplicasMismatch": {
        f"kube_loadautoscaler_status_desired_replicas{{{LOAD_AUTOSCALER}}}": "5x120"
    },
}  # fmt: skip


def firing(series: dict[str, str], alerts: list[str]) -> dict[str, Any]:
    """A test of promtool: after two hours, exactly these alerts fire."""
    samples = [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts]
    expression = 'max by (alertname) (ALERTS{alertstate="firing"})'
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": expression, "eval_time": "110m", "exp_samples": samples}],
    }


def run_promtool(directory: Path, *tests: dict[str, Any]) -> None:
    """Raises AssertionError with promtool's report."""
    file = directory / "tests.yaml"
    rule_files = [str(each) for each in FILES.values()]
    file.write_text(yaml.safe_dump({"rule_files": rule_files, "tests": list(tests)}))
    done = subprocess.run(
        [assets.find("promtool"), "test", "rules", file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("chart", FILES)
def test_promtool_accepts_the_rules(chart):
    command = [assets.find("promtool"), "check", "rules", "--lint-fatal", FILES[chart]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_alert_fires_on_healthy_series(tmp_path):
    run_promtool(tmp_path, firing(HEALTHY, []))


@pytest.mark.parametrize("alert", RULES)
def test_exactly_this_alert_fires_on_its_fault(alert, tmp_path):
    run_promtool(tmp_path, firing(HEALTHY | FAULTS[alert], [alert]))


def test_every_alert_has_a_section_in_the_runbook_and_no_other_section_exists():
    page = (ROOT / "docs" / "runbooks.md").read_text()
    assert re.findall(r"^### (\w+)$", page, re.MULTILINE) == list(RULES)
    assert set(FAULTS) == set(RULES)
