"""What the running scaler exports of itself."""

import platform

import pytest

from scaler.cluster.telemetry import Telemetry


def exported(telemetry, name, labels=None):
    return telemetry.registry.get_sample_value(name, labels)


def test_the_build_has_the_version_of_the_program_and_of_python():
    telemetry = Telemetry()
    telemetry.show_build("1.2.3")
    labels = {"version": "1.2.3", "python_version": platform.python_version()}
    assert exported(telemetry, "loadline_scaler_build_info", labels) == 1


@pytest.mark.parametrize(("shards", "is_leading"), [(16, 1), (0, 0)])
def test_a_leader_has_all_shards_and_another_replica_none(shards, is_leading):
    telemetry = Telemetry()
    telemetry.show_share(shards)
    assert exported(telemetry, "loadline_scaler_leading") == is_leading
    assert exported(telemetry, "loadline_scaler_shards") is None


def test_with_sharding_the_shards_of_this_process_and_of_all_are_exported():
    telemetry = Telemetry(shards=16)
    telemetry.show_share(5)
    assert exported(telemetry, "loadline_scaler_shards_owned") == 5
    assert exported(telemetry, "loadline_scaler_shards") == 16
    assert exported(telemetry, "loadline_scaler_leading") is None


def test_the_difference_of_clocks_is_that_of_the_moment_of_the_scrape():
    telemetry, differences = Telemetry(), [0.0]
    telemetry.show_clock_difference(lambda: differences[-1])
    differences.append(7.5)
    assert exported(telemetry, "loadline_scaler_clock_difference_seconds") == 7.5
