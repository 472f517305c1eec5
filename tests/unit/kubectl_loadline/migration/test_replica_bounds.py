"""The bounds of a ScaledObject, its way to zero and from it, and what keeps a replica."""

import pytest

from kubectl_loadline.migration import Unconvertible
from testbed.programs import CRD
from tests.crd_schema import schema_in, unknown_fields, violations
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    CPU,
    converted,
    cron,
    prometheus,
    remarked,
    spec_of,
)


def test_cpu_alone_never_goes_to_zero_as_in_keda():
    found = converted(CPU)
    assert found.autoscaler["spec"]["minReplicas"] == 1
    [remark] = found.remarks
    assert "with only cpu and memory, KEDA keeps one replica as well" in remark.message


@pytest.mark.parametrize(
    ("triggers", "spec"),
    [
        pytest.param([prometheus()], {"minReplicaCount": 1}, id="a minimum"),
        pytest.param([CPU], {}, id="cpu"),
        pytest.param([CPU, cron("0 8 * * *", "0 9 * * *")], {}, id="cpu and cron"),
        pytest.param([CPU], {"idleReplicaCount": 0, "minReplicaCount": 2}, id="idle cpu, always active in KEDA"),
        pytest.param([prometheus()], {"idleReplicaCount": 0, "minReplicaCount": 2}, id="idle"),
        pytest.param(
            [prometheus(activationThreshold="-1")], {"idleReplicaCount": 0, "minReplicaCount": 2}, id="active at zero"
        ),
    ],
)  # fmt: skip
def test_it_is_said_once_that_a_target_at_zero_is_disabled_unless_the_object_goes_to_zero(
    triggers, spec
):
    """KEDA scales it to `minReplicaCount` (`RequestScale`)."""
    found = [each.message for each in converted(*triggers, **spec).remarks]
    assert sum("a target that is at 0 is disabled" in each for each in found) == 1
    assert remarked(prometheus()) == []


def test_cron_triggers_alone_are_refused_with_what_makes_them_convertible():
    trigger = cron("0 8 * * *", "0 9 * * *")
    with pytest.raises(Unconvertible, match=r"only cron triggers.*`query: vector\(0\)`"):
        converted(trigger)
    spec = spec_of(trigger, prometheus("vector(0)", threshold="1"))
    assert (spec["minReplicas"], spec["schedules"][0]["minReplicas"]) == (0, 6)
    assert spec["scaleToZero"]["manualZero"] == "Activate"


@pytest.mark.parametrize(
    ("bounds", "field"),
    [({}, "minReplicaCount"), ({"idleReplicaCount": 0, "minReplicaCount": 2}, "idleReplicaCount")],
)
def test_an_omitted_trigger_beside_cron_is_not_replaced_by_one_without_load(bounds, field):
    kafka = {"type": "kafka", "metadata": {}}
    found = converted(CPU, kafka, cron("0 8 * * *", "0 9 * * *"), **bounds).remarks
    assert [each.fix for each in found if each.field == f"spec.{field}"] == [None]


def test_cpu_beside_a_query_does_not_keep_the_target_from_zero():
    """KEDA reads no activity from cpu and memory."""
    container = {**CPU, "type": "memory", "metadata": {"value": "60", "containerName": "app"}}
    found = converted(prometheus(), CPU, container).autoscaler
    metrics = found["spec"]["metrics"]
    assert [each.get("activationValue") for each in metrics] == [None, "1P", "1P"]
    spec = schema_in(CRD)["properties"]["spec"]
    assert [*violations(found["spec"], spec), *unknown_fields(found["spec"], spec)] == []


def test_cpu_and_cron_say_that_keda_would_go_to_zero():
    trigger = cron("0 8 * * *", "0 9 * * *")
    found = converted(CPU, trigger)
    assert found.autoscaler["spec"]["minReplicas"] == 1
    assert "activationValue" not in found.autoscaler["spec"]["metrics"][0]
    (remark,) = [each for each in found.remarks if each.field == "spec.minReplicaCount"]
    assert (
        "KEDA scales to zero while no trigger other than cpu and memory is active" in remark.message
    )


@pytest.mark.parametrize(("value", "least"), [("true", 1), ("yes", 1), ("false", 0)])
def test_a_target_whose_activation_is_forced_keeps_a_replica(value, least):
    annotations = {"autoscaling.keda.sh/force-activation": value}
    assert spec_of(prometheus(), annotations=annotations)["minReplicas"] == least
    reported = ["spec.minReplicaCount"] if least else []
    assert remarked(prometheus(), annotations=annotations) == reported
    assert spec_of(prometheus(), annotations=annotations, minReplicaCount=3)["minReplicas"] == 3


@pytest.mark.parametrize(
    ("scale_down", "reported"),
    [
        pytest.param({"selectPolicy": "Disabled"}, "selectPolicy", id="never to zero"),
        pytest.param(
            {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]},
            "policies",
            id="slowly",
        ),
    ],
)
def test_policies_that_delay_zero_are_reported(scale_down, reported):
    config = {"behavior": {"scaleDown": scale_down}}
    advanced = {"horizontalPodAutoscalerConfig": config}
    field = f"spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown.{reported}"
    assert remarked(prometheus(), advanced=advanced) == [field]
    assert field not in remarked(prometheus(), advanced=advanced, minReplicaCount=1)


def test_a_disabled_scale_up_that_keeps_the_target_at_zero_is_reported():
    config = {"behavior": {"scaleUp": {"selectPolicy": "Disabled"}}}
    advanced = {"horizontalPodAutoscalerConfig": config}
    field = "spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleUp.selectPolicy"
    assert remarked(prometheus(), advanced=advanced) == [field]
    assert field not in remarked(prometheus(), advanced=advanced, minReplicaCount=1)


@pytest.mark.parametrize(
    ("cooldown", "window", "remarks"),
    [
        (300, None, []),
        (10, None, ["spec.cooldownPeriod"]),
        (10, 10, []),
        (10, 60, ["spec.cooldownPeriod"]),
    ],
)
def test_a_stabilization_window_that_delays_zero_is_reported(cooldown, window, remarks):
    behavior = {"scaleDown": {} if window is None else {"stabilizationWindowSeconds": window}}
    advanced = {"horizontalPodAutoscalerConfig": {"behavior": behavior}}
    assert remarked(prometheus(), cooldownPeriod=cooldown, advanced=advanced) == remarks


def test_an_idle_count_of_zero_beside_an_explicit_minimum_of_zero_is_valid_in_keda():
    assert remarked(prometheus(), idleReplicaCount=0, minReplicaCount=0) == []


def test_the_way_to_zero_while_nothing_is_active_is_complete():
    """With `minReplicas` above 0, the LoadAutoscaler has no activation values."""
    triggers = prometheus(activationThreshold="5"), CPU
    [remark] = converted(
        *triggers, idleReplicaCount=0, minReplicaCount=2, cooldownPeriod=60
    ).remarks
    for each in (
        "minReplicas: 0",
        "scaleToZero: {cooldownSeconds: 60, manualZero: Activate}",
        "activationValue: '5' in prometheus-0",
        "activationValue: '1P' in Resource",
    ):
        assert each in remark.fix


def test_a_way_to_zero_without_a_metric_that_can_start_begins_with_a_trigger_of_one():
    triggers = CPU, cron("0 8 * * *", "0 9 * * *")
    found = converted(*triggers, idleReplicaCount=0, minReplicaCount=2).remarks
    [remark] = [each for each in found if each.field == "spec.idleReplicaCount"]
    assert '`query: vector(0)` and `threshold: "1"`' in remark.fix


def test_a_trigger_that_is_active_at_zero_keeps_a_replica_as_in_keda():
    found = converted(prometheus(activationThreshold="-1"))
    spec = found.autoscaler["spec"]
    assert spec["minReplicas"] == 1
    assert not {"activationValue"} & spec["metrics"][0].keys()
    [remark] = found.remarks
    assert remark.field == "spec.minReplicaCount"
    assert "while prometheus-0 is above -1, as it is at 0: minReplicas is 1" in remark.message
