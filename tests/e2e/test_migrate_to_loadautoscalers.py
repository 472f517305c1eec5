"""`loadline-scaler migrate` on a real cluster: its output is valid, and a DryRun beside the HPA decides the same."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from testbed.cluster import Cluster
from testbed.waiting import until
from tests.e2e.scaler_objects import CRD
from tests.unit.kubectl_loadline.commands.test_migrate import SCALED_OBJECT

QUEUE = {
    "type": "External",
    "external": {
        "metric": {"name": "jobs"},
        "target": {"type": "AverageValue", "averageValue": "10"},
    },
}


def migrate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "scaler", "migrate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def web(cluster: Cluster, namespace: str, metrics_api) -> str:
    """A Deployment with an HPA that wants four replicas."""
    cluster.apply_crd(CRD.read_text())
    metrics_api.values[f"{namespace}/jobs"] = "40"
    cluster.kubectl("create", "deployment", "web", "--image=web", f"-n{namespace}")
    hpa = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": namespace, "labels": {"team": "a"}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 9,
            "metrics": [QUEUE],
        },
    }
    cluster.apply(hpa)
    return namespace


def test_a_dry_run_beside_the_hpa_decides_the_same(
    cluster: Cluster, web: str, start_scaler, tmp_path: Path, metrics_api
):
    here = (f"--kubeconfig={cluster.kubeconfig}", f"--namespace={web}")
    converted = migrate(*here)
    assert converted.returncode == 0, converted
    (autoscaler,) = yaml.safe_load_all(converted.stdout)
    assert autoscaler["metadata"]["labels"] == {"team": "a"}
    assert autoscaler["spec"]["mode"] == "DryRun"
    cluster.apply(autoscaler)
    start_scaler(f"--namespace={web}")

    def agree() -> bool:
        report = migrate("--compare", *here)
        assert report.stdout == f"{web}/web: both set 4\n", report
        assert report.returncode == 0
        return True

    until(agree, what="the same decision", every_seconds=0.5)


def test_the_api_server_accepts_a_converted_scaled_object(
    cluster: Cluster, namespace: str, tmp_path: Path
):
    cluster.apply_crd(CRD.read_text())
    manifest = yaml.safe_load(SCALED_OBJECT)
    manifest["metadata"]["namespace"] = namespace
    spec = manifest["spec"]
    spec["triggers"][0]["metadata"]["activationThreshold"] = "5"
    spec["fallback"] = {"failureThreshold": 3, "replicas": 6}
    spec["triggers"].append(
        {"type": "cpu", "metricType": "Utilization", "metadata": {"value": "60"}}
    )
    times = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "timezone": "Europe/Berlin"}
    spec["triggers"].append({"type": "cron", "metadata": {**times, "desiredReplicas": "4"}})
    manifest["metadata"]["annotations"] = {"autoscaling.keda.sh/paused-replicas": "2"}
    file = tmp_path / "scaledobject.yaml"
    file.write_text(yaml.safe_dump(manifest))
    converted = migrate(f"--rules={tmp_path / 'rules.yaml'}", str(file))
    assert converted.returncode == 0, converted
    (autoscaler,) = yaml.safe_load_all(converted.stdout)
    cluster.apply(autoscaler)
    check = [sys.executable, "-m", "adapter", "check", str(tmp_path / "rules.yaml")]
    checked = subprocess.run(check, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked
