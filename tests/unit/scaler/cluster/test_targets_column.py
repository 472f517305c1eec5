"""The column TARGETS, as `kubectl get hpa` shows it."""

from typing import Any

import msgspec
import pytest

from scaler.api.autoscaler import MetricSpec, MetricStatus
from scaler.cluster.targets_column import printed_targets


def spec(kind: str, target: dict[str, Any]) -> MetricSpec:
    source = {"metric": {"name": "m"}, "name": "cpu", "container": "app", "target": target}
    source["describedObject"] = {"kind": "Service", "name": "front"}
    return msgspec.convert({"type": kind, kind[0].lower() + kind[1:]: source}, MetricSpec)


def status(kind: str, current: dict[str, Any]) -> MetricStatus:
    source = {"metric": {"name": "m"}, "name": "cpu", "container": "app", "current": current}
    source["describedObject"] = {"kind": "Service", "name": "front"}
    return msgspec.convert({"type": kind, kind[0].lower() + kind[1:]: source}, MetricStatus)


@pytest.mark.parametrize(
    ("kind", "target", "current", "unknown", "printed"),
    [
        ("External", {"averageValue": 30}, {"averageValue": "30"}, "<unknown>/30 (avg)", "30/30 (avg)"),
        ("External", {"value": "0.5"}, {"value": "1500m"}, "<unknown>/500m", "1500m/500m"),
        ("Object", {"averageValue": "2"}, {"averageValue": "1"}, "<unknown>/2 (avg)", "1/2 (avg)"),
        ("Object", {"value": "1k"}, {"value": "2"}, "<unknown>/1k", "2/1k"),
        ("Pods", {"averageValue": "10"}, {"averageValue": "3"}, "<unknown>/10", "3/10"),
        ("Resource", {"averageUtilization": 80}, {"averageUtilization": 40}, "cpu: <unknown>/80%", "cpu: 40%/80%"),
        ("Resource", {"averageValue": "1"}, {"averageValue": "250m"}, "cpu: <unknown>/1", "cpu: 250m/1"),
        ("ContainerResource", {"averageUtilization": 80}, {"averageUtilization": 40}, "cpu: <unknown>/80%", "cpu: 40%/80%"),
        ("ContainerResource", {"averageValue": "1"}, {"averageValue": "1"}, "cpu: <unknown>/1", "cpu: 1/1"),
    ],
)  # fmt: skip
def test_a_metric_is_shown_beside_its_target(kind, target, current, unknown, printed):
    wanted = spec(kind, {"type": "Value", **target})
    assert printed_targets([wanted], [status(kind, current)]) == printed
    assert printed_targets([wanted], []) == unknown
    assert printed_targets([wanted], [MetricStatus(type="")]) == unknown


def test_two_metrics_are_shown_and_the_others_are_counted():
    wanted = [spec("External", {"type": "Value", "value": str(number)}) for number in range(1, 5)]
    assert printed_targets(wanted, []) == "<unknown>/1, <unknown>/2 + 2 more..."


def test_what_cannot_be_read_is_shown_as_it_is():
    wanted = spec("External", {"type": "Value", "value": "a lot"})
    assert printed_targets([wanted], []) == "<unknown>/a lot"
    assert printed_targets([MetricSpec(type="Gossip")], []) == "<unknown type>"
