"""Cron triggers become schedules."""

import pytest

from tests.unit.kubectl_loadline.migration.scaled_objects import cron, prometheus, remarked, spec_of


@pytest.mark.parametrize(
    ("start", "end", "seconds"),
    [
        pytest.param("0 8 * * 1-5", "30 18 * * 1-5", 37800, id="office hours"),
        pytest.param("0 22 * * *", "0 6 * * *", 28800, id="overnight, every day"),
        pytest.param("0 22 * * 1-5", "0 6 * * 1-5", None, id="overnight, on some days"),
        pytest.param("0 8 * * *", "0 8 * * *", None, id="no time at all"),
        pytest.param("*/5 * * * *", "0 6 * * *", None, id="many starts"),
        pytest.param("0 8 1 * *", "0 8 3 * *", None, id="several days"),
    ],
)
def test_a_cron_trigger_becomes_a_schedule_if_its_duration_is_fixed(start, end, seconds):
    trigger = cron(start, end)
    found = spec_of(prometheus(), trigger, minReplicaCount=1).get("schedules")
    if seconds is None:
        assert found is None
        assert remarked(prometheus(), trigger, minReplicaCount=1) == ["spec.triggers[1]"]
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
