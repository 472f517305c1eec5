"""Cron triggers become schedules."""

import re

import pytest

from kubectl_loadline.migration import Unconvertible
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    converted,
    cron,
    prometheus,
    remarked,
    spec_of,
)


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        pytest.param("0 8 * * 1-5", "30 18 * * 1-5", 37800, id="office hours"),
        pytest.param("0 22 * * *", "0 6 * * *", 28800, id="overnight, every day"),
        pytest.param("0 22 * * 1-5", "0 6 * * 1-5", None, id="overnight, on some days"),
        pytest.param("*/5 * * * *", "0 6 * * *", None, id="many starts"),
        pytest.param("0 8 1 * *", "0 8 3 * *", None, id="several days"),
    ],
)
def test_a_cron_trigger_becomes_a_schedule_if_its_duration_is_fixed(start, end, seconds):
    trigger = cron(start, end)
    found = spec_of(prometheus(), trigger).get("schedules")
    if seconds is None:
        assert found is None
        assert remarked(prometheus(), trigger) == ["spec.triggers[1]"]
    else:
        (schedule,) = found
        assert schedule == {
            "name": "cron-1",
            "schedule": start,
            "durationSeconds": seconds,
            "timeZone": "Europe/Berlin",
            "minReplicas": 6,
        }


@pytest.mark.parametrize(("least", "expected"), [(0, 2), (1, 2), (5, 5)])
def test_a_cron_trigger_does_not_lower_the_minimum(least, expected):
    trigger = cron("0 8 * * *", "0 9 * * *", desiredReplicas="2")
    (schedule,) = spec_of(prometheus(), trigger, minReplicaCount=least)["schedules"]
    assert schedule["minReplicas"] == expected


def test_a_cron_trigger_does_not_exceed_the_upper_bound():
    found = spec_of(prometheus(), cron("0 8 * * *", "0 9 * * *"), maxReplicaCount=4)
    assert found["schedules"][0]["minReplicas"] == 4


def test_spaces_in_a_cron_expression_do_not_count():
    """kube-apiserver refuses a schedule that begins with one."""
    (schedule,) = spec_of(prometheus(), cron(" 0  8 * * *", "0 9 * * * "))["schedules"]
    assert (schedule["schedule"], schedule["durationSeconds"]) == ("0 8 * * *", 3600)


def test_spaces_around_a_time_zone_do_not_count_as_in_keda():
    (schedule,) = spec_of(prometheus(), cron("0 8 * * *", "0 9 * * *", timezone="UTC "))[
        "schedules"
    ]
    assert schedule["timeZone"] == "UTC"


DAILY = {"start": "0 8 * * *", "end": "0 9 * * *"}


@pytest.mark.parametrize(
    ("given", "field", "problem"),
    [
        ({"desiredReplicas": "0"}, "desiredReplicas", "0 is not from 1 to 2147483647"),
        ({"desiredReplicas": "1_0"}, "desiredReplicas", "'1_0' is not an integer"),
        ({"desiredReplicas": None}, "desiredReplicas", "it is missing, and KEDA requires it"),
        ({"desiredReplicas": " "}, "desiredReplicas", "it is missing, and KEDA requires it"),
        ({"timezone": ""}, "timezone", "it is missing, and KEDA requires it"),
        ({"end": "0  8 * * *"}, "end", "it is the same as start, which KEDA refuses"),
    ],
)
@pytest.mark.parametrize(
    "beside",
    [
        pytest.param({}, id="alone"),
        pytest.param(
            {"advanced": {"scalingModifiers": {"formula": "a", "target": "1"}}},
            id="beside a formula",
        ),
    ],
)
def test_a_cron_trigger_that_keda_refuses_is_refused(given, field, problem, beside):
    message = re.escape(f"spec.triggers[1].metadata.{field}: {problem}")
    with pytest.raises(Unconvertible, match=message):
        converted(prometheus(name="a"), cron(**{**DAILY, **given}), **beside)


@pytest.mark.parametrize("kind", ["Utilization", "Other"])
def test_a_metric_type_that_keda_refuses_for_cron_is_refused(kind):
    trigger = {**cron(**DAILY), "metricType": kind}
    message = rf"spec\.triggers\[1\]\.metricType: '{kind}' is neither AverageValue nor Value"
    with pytest.raises(Unconvertible, match=message):
        converted(prometheus(), trigger)


@pytest.mark.parametrize(
    ("count", "message", "fix"),
    [
        (
            "6",
            "multiplies the replicas by desiredReplicas (6)",
            "set minReplicas of the schedule cron-1 to 40",
        ),
        ("1", "removes no replicas until the end", None),
    ],
)
def test_what_the_hpa_of_keda_does_with_a_value_of_cron_is_reported(count, message, fix):
    """It multiplies the ready pods by the ratio, and the target is 1."""
    trigger = {**cron(**DAILY, desiredReplicas=count), "metricType": "Value"}
    found = converted(prometheus(), trigger, maxReplicaCount=40)
    assert found.autoscaler["spec"]["schedules"][0]["minReplicas"] == int(count)
    [remark] = found.remarks
    assert remark.field == "spec.triggers[1].metricType"
    assert message in remark.message
    assert (remark.fix is None) == (fix is None)
    assert fix is None or fix in remark.fix


def test_the_default_metric_type_of_cron_needs_no_remark():
    assert remarked(prometheus(), {**cron(**DAILY), "metricType": "AverageValue"}) == []
