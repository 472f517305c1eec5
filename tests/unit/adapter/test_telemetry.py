"""What the adapter exports of itself."""

import platform

import pytest
from prometheus_client import REGISTRY

from adapter import telemetry


def test_the_build_has_the_version_of_the_program_and_of_python():
    telemetry.show_build("1.2.3")
    labels = {"version": "1.2.3", "python_version": platform.python_version()}
    assert REGISTRY.get_sample_value("loadline_adapter_build_info", labels) == 1


@pytest.mark.deviation("own-metrics")
def test_the_metrics_have_the_name_of_the_program():
    names = {family.name for family in REGISTRY.collect()}
    assert {
        "loadline_adapter_requests",
        "loadline_adapter_prometheus_request_duration_seconds",
    } <= names
    assert not [name for name in names if name.startswith(("apiserver_", "prometheus_adapter_"))]
