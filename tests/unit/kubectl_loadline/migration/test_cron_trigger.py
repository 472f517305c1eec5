"""Cron triggers become schedules."""

import re
from datetime import UTC, datetime

import msgspec
import pytest

from kubectl_loadline.migration import Unconvertible
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleView
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.kubectl_loadline.migration.scaled_objects import (
    converted,
    cron,
    prometheus,
    remarked,
    spec_of,
)
from tests.unit.scaler.objects import decided

WINDOW_SECONDS = 300
"""The default of the HPA controller."""
DAILY = {"start": "0 8 * * *", "end": "0 9 * * *"}


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
            "durationSeconds": seconds + WINDOW_SECONDS,
            "timeZone": "Europe/Berlin",
            "minReplicas": 6,
        }


@pytest.mark.parametrize(
    ("window_seconds", "bounds", "kept_seconds"),
    [
        pytest.param(None, {"minReplicaCount": 1}, 300, id="the default"),
        pytest.param(600, {"minReplicaCount": 1}, 600, id="of the object"),
        pytest.param(0, {"minReplicaCount": 1}, 0, id="none"),
        pytest.param(None, {}, 300, id="with scale to zero"),
        pytest.param(None, {"cooldownPeriod": 3600}, 300, id="before zero, its HPA removes replicas"),
        pytest.param(None, {"cooldownPeriod": 60}, 60, id="KEDA goes to zero before the end of the window"),
        pytest.param(None, {"cooldownPeriod": 60, "minReplicaCount": 1}, 300, id="no cooldown without zero"),
    ],
)  # fmt: skip
def test_a_schedule_lasts_as_long_as_the_replicas_of_its_trigger_in_keda(
    window_seconds, bounds, kept_seconds
):
    """There, the value of the trigger is a metric of an HPA, whose scale-down window keeps the replicas after the end."""
    found = converted(prometheus(), cron(**DAILY), advanced=scale_down(window_seconds), **bounds)
    (schedule,) = found.autoscaler["spec"]["schedules"]
    assert schedule["durationSeconds"] == 3600 + kept_seconds
    said = [each.message for each in found.remarks if each.field == "spec.triggers"]
    assert [f"{kept_seconds} s after" in each for each in said] == [True] * bool(kept_seconds)


def scale_down(window_seconds):
    rules = {} if window_seconds is None else {"stabilizationWindowSeconds": window_seconds}
    return {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": rules}}}


@pytest.mark.parametrize("least", [0, 1])
def test_a_gap_between_two_schedules_that_is_shorter_than_the_window_removes_no_replica(least):
    """The HPA of KEDA keeps 20 from 23:59 to 00:00."""
    found = converted(
        prometheus(),
        cron("0 0 * * *", "59 23 * * *", desiredReplicas="20", timezone="UTC"),
        minReplicaCount=least,
    )
    midnight = datetime(2026, 11, 24, tzinfo=UTC).timestamp()
    counts = replicas_of(found, [0] * 80, begins_unix_seconds=midnight - 900, replicas=20)
    assert counts == [20] * 80


def replicas_of(found, lengths, *, begins_unix_seconds, replicas):
    """The counts that a converted object decides, one each 15 s, for these lengths of a queue."""
    autoscaler = {**found.autoscaler, "metadata": {"name": "worker", "namespace": "shop"}}
    autoscaler = msgspec.convert(autoscaler, Autoscaler)
    settings = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)
    memory, counts = Memory(), []
    for position, length in enumerate(lengths):
        scale = ScaleView(spec_replicas=replicas, status_replicas=replicas, selector="app=web")
        decision = decided(
            Observed(autoscaler=autoscaler, scale=scale),
            (ExternalValues((length * 1000,)),),
            memory=memory,
            settings=settings,
            now=begins_unix_seconds + 15 * position,
        )
        memory, replicas = decision.memory, decision.desired_replicas
        counts.append(replicas)
    return counts


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
    assert (schedule["schedule"], schedule["durationSeconds"]) == (
        "0 8 * * *",
        3600 + WINDOW_SECONDS,
    )


def test_spaces_around_a_time_zone_do_not_count_as_in_keda():
    (schedule,) = spec_of(prometheus(), cron("0 8 * * *", "0 9 * * *", timezone="UTC "))[
        "schedules"
    ]
    assert schedule["timeZone"] == "UTC"


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
    [remark] = [each for each in found.remarks if each.field == "spec.triggers[1].metricType"]
    assert message in remark.message
    assert (remark.fix is None) == (fix is None)
    assert fix is None or fix in remark.fix


def test_the_default_metric_type_of_cron_needs_no_remark():
    explicit = {**cron(**DAILY), "metricType": "AverageValue"}
    assert remarked(prometheus(), explicit) == ["spec.triggers"], "only about the duration"
