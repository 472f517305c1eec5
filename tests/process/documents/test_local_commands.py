"""Blocks of commands that need no cluster are run as they are written."""

from pathlib import Path

import msgspec
import pytest
import yaml

from tests.documented_blocks import ROOT
from tests.shell import Shell

TRIGGER = {
    "type": "prometheus",
    "metadata": {
        "serverAddress": "http://prometheus.monitoring.svc:9090",
        "query": "sum(queue)",
        "threshold": "30",
    },
}
SCALED_OBJECT = {
    "apiVersion": "keda.sh/v1alpha1",
    "kind": "ScaledObject",
    "metadata": {"name": "worker", "namespace": "shop"},
    "spec": {"scaleTargetRef": {"name": "worker"}, "triggers": [TRIGGER]},
}
# As kubectl runs a plugin that is on the PATH.
KUBECTL = 'test "$1" = loadline && shift && exec kubectl-loadline "$@"'


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, programs={"kubectl": ["sh", "-c", KUBECTL, "kubectl"]})


def test_the_schema_of_the_configuration_is_written(shell, documented_blocks):
    [commands] = documented_blocks
    published = Path("docs/configuration.schema.json")
    (shell.directory / published.parent).mkdir()
    shell.run(commands)
    assert (shell.directory / published).read_text() == (ROOT / published).read_text()


def test_scaled_objects_are_converted(shell, documented_blocks):
    [commands] = documented_blocks
    (shell.directory / "scaledobjects.yaml").write_bytes(msgspec.yaml.encode(SCALED_OBJECT))
    shell.run(commands)
    converted = yaml.safe_load((shell.directory / "loadautoscalers.yaml").read_text())
    assert (converted["kind"], converted["spec"]["mode"]) == ("LoadAutoscaler", "DryRun")
    rules = yaml.safe_load((shell.directory / "keda-metrics.yaml").read_text())["rules"]
    [rule] = rules["metrics"]
    assert rule["describes"] == "deployments.apps"
    assert "label_replace(clamp_min(sum(queue), 0), " in rule["query"]


def test_the_shell_completes_the_plugin(shell, documented_blocks):
    [commands] = documented_blocks
    completions = "complete -p kubectl-loadline"
    assert "kubectl-loadline" in shell.run(f"set +eu\n{commands}{completions}")
