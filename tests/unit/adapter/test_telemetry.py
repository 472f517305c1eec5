"""What the adapter exports of itself."""

import platform

from prometheus_client import REGISTRY

from adapter import telemetry


def test_the_build_has_the_version_of_the_program_and_of_python():
    telemetry.show_build("1.2.3")
    labels = {"version": "1.2.3", "python_version": platform.python_version()}
    assert REGISTRY.get_sample_value("loadline_adapter_build_info", labels) == 1
