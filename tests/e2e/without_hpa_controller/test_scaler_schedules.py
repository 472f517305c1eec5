"""Schedules and calendars on a real control plane, in real time; and what the API server says to calendars."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from testbed import worst_schedules
from testbed.waiting import until
from tests.e2e.scaler_objects import CRD, Workspace, autoscaler, plain_queue, workload

CALENDARS = CRD.with_name("scalingcalendars.yaml")
API_VERSION = "loadline.io/v1beta1"


def in_seconds(seconds: int) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")


def calendar(
    kind: str, name: str, namespace: str | None, *entries: dict[str, Any]
) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": {"entries": list(entries)}}  # fmt: skip


def test_a_schedule_sets_a_floor_while_it_is_active_and_the_status_says_until_when(
    cluster, metrics_api, namespace, start_scaler
):
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 2))
    start_scaler("--downscale-stabilization=0s")
    starts_at = in_seconds(10)
    sale = {"name": "sale", "dates": [starts_at], "durationSeconds": 20, "minReplicas": 5}
    cluster.apply(autoscaler(namespace, plain_queue("10"), schedules=[sale]))
    workspace = Workspace(cluster, namespace)
    message = workspace.has_condition("Scheduled", "False", "NoActiveSchedule")
    assert message == f"no schedule is active; the next change is at {starts_at}Z"
    assert workspace.status()["schedule"]["nextChangeTime"] == f"{starts_at}Z"

    workspace.reaches(5)
    message = workspace.has_condition("Scheduled", "True", "ScheduleActive")
    assert message.startswith("1 schedule is active (sale): minReplicas is 5, maxReplicas is 6")
    workspace.has_event(
        "SuccessfulRescale", lambda text: text.endswith("below minReplicas 5 of a schedule")
    )
    wide = cluster.kubectl("get", "la", "--namespace", namespace, "--output=wide")
    assert "SCHEDULE" in wide
    assert "sale" in wide

    workspace.reaches(2)
    message = workspace.has_condition("Scheduled", "False", "NoActiveSchedule")
    assert message == "no schedule is active"


@pytest.mark.parametrize("kind", ["ScalingCalendar", "ClusterScalingCalendar"])
def test_a_calendar_that_several_share_is_followed_when_it_changes(
    cluster, metrics_api, namespace, start_scaler, kind
):
    metrics_api.values[f"{namespace}/queue"] = "20"
    name = f"retail-{kind.lower()}"
    schedule = {"name": "holidays", "calendarRef": {"kind": kind, "name": name}}
    cluster.apply(
        workload("Deployment", namespace, 4),
        autoscaler(namespace, plain_queue("10"), schedules=[schedule]),
    )
    start_scaler("--downscale-stabilization=0s")
    workspace = Workspace(cluster, namespace)
    message = workspace.has_condition("Scheduled", "False", "InvalidSchedule")
    assert f"spec.schedules[0].calendarRef: {kind} {name} does not exist" in message
    assert "nothing is scaled down until that is fixed" in message
    workspace.has_condition("ScalingLimited", "True", "InvalidSchedule")
    assert workspace.replicas() == 4, "the metric proposes 2"

    event = {"name": "sale", "start": in_seconds(-3600), "durationSeconds": 7200, "minReplicas": 5}
    inside = None if kind == "ClusterScalingCalendar" else namespace
    cluster.apply(calendar(kind, name, inside, event))
    workspace.reaches(5)
    assert "holidays/sale" in workspace.has_condition("Scheduled", "True", "ScheduleActive")
    cluster.apply(calendar(kind, name, inside, {**event, "minReplicas": 3}))
    workspace.reaches(3)


def test_a_cron_expression_that_the_schema_cannot_check_is_named_in_the_condition(
    cluster, metrics_api, namespace, start_scaler
):
    metrics_api.values[f"{namespace}/queue"] = "10"
    wrong = {"name": "office", "schedule": "0 25 * * *", "durationSeconds": 60, "minReplicas": 5}
    cluster.apply(
        workload("Deployment", namespace, 3),
        autoscaler(namespace, plain_queue("10"), schedules=[wrong]),
    )
    start_scaler("--downscale-stabilization=0s")
    workspace = Workspace(cluster, namespace)
    message = workspace.has_condition("Scheduled", "False", "InvalidSchedule")
    assert message.startswith(
        "spec.schedules[0].schedule: hour '25': it must be from 0 to 23; nothing is scaled down"
    )
    assert workspace.replicas() == 3
    metrics_api.values[f"{namespace}/queue"] = "60"
    workspace.reaches(6)


EVENT = {"name": "sale", "start": "2026-11-27T00:00:00", "durationSeconds": 86400, "minReplicas": 3}


@pytest.mark.parametrize(
    ("event", "message"),
    [
        pytest.param({"rrule": "FREQ=HOURLY"}, "spec.entries[0].rrule: Invalid value: FREQ must be DAILY, WEEKLY, MONTHLY or YEARLY", id="hourly"),
        pytest.param({"rrule": "every day"}, "spec.entries[0].rrule in body should match", id="not a rule"),
        pytest.param({"start": "2026-11-27"}, "spec.entries[0].start in body should match", id="a day"),
        pytest.param({"durationSeconds": 0}, "spec.entries[0].durationSeconds in body should be greater than or equal to 1", id="no duration"),
        pytest.param({"maxReplicas": 2}, "spec.entries[0].maxReplicas: Invalid value: must be greater than or equal to `minReplicas`", id="bounds"),
        pytest.param({"exdates": ["soon"]}, "spec.entries[0].exdates[0] in body should match", id="exdate"),
    ],
)  # fmt: skip
def test_an_invalid_event_of_a_calendar_is_refused_with_its_field(
    cluster, namespace, event, message
):
    with pytest.raises(Exception) as refused:  # noqa: PT011
        cluster.apply(calendar("ScalingCalendar", "retail", namespace, {**EVENT, **event}))
    assert message in str(refused.value)


def test_a_recurring_event_is_stored(cluster, namespace):
    event = {
        **EVENT, "rrule": "FREQ=YEARLY;BYMONTH=11;BYDAY=4FR;UNTIL=20351231T000000Z",
        "rdates": ["2026-12-24T00:00:00"], "exdates": ["2027-11-26T00:00:00"],
    }  # fmt: skip
    cluster.apply(calendar("ScalingCalendar", "retail", namespace, event))
    path = f"/apis/{API_VERSION}/namespaces/{namespace}/scalingcalendars/retail"
    assert until(lambda: cluster.get(path), what="the calendar")["spec"]["entries"] == [event]


def test_the_largest_schedules_of_one_namespace_do_not_delay_the_autoscalers_of_another(
    cluster, metrics_api, namespace, start_scaler
):
    """Ten calendars and five autoscalers, of all kinds that cost most."""
    dense = f"{namespace}-dense"
    cluster.create_namespace(dense)
    kinds = list(worst_schedules.ENTRY_FIELDS.values())
    for each in range(worst_schedules.CALENDARS):
        entries = worst_schedules.entries(kinds[each % len(kinds)], each)
        name = worst_schedules.calendar_name(each)
        large = msgspec.json.encode(calendar("ScalingCalendar", name, dense, *entries)).decode()
        # Too large for the annotation of kubectl apply.
        cluster.kubectl("create", "--filename=-", input=large)
    schedules = worst_schedules.schedules()
    for name in ("a", "b", "c", "d", "e"):
        cluster.apply(
            workload("Deployment", dense, 2, name),
            autoscaler(dense, plain_queue("10"), name=name, target=name, schedules=schedules),
        )
    metrics_api.values[f"{dense}/queue"] = "10"
    metrics_api.values[f"{namespace}/queue"] = "10"
    cluster.apply(workload("Deployment", namespace, 1), autoscaler(namespace, plain_queue("10")))
    start_scaler("--sync-period=1s", "--downscale-stabilization=0s")

    other = Workspace(cluster, namespace)
    for replicas in (5, 2, 6):
        metrics_api.values[f"{namespace}/queue"] = f"{10 * replicas}"
        # Ten periods: most of it is for a loaded machine.
        other.reaches(replicas, deadline_seconds=10)
    for name in ("a", "b", "c", "d", "e"):
        workspace = Workspace(cluster, dense, name=name)
        message = workspace.has_condition("ScalingLimited", "True", "PendingSchedule")
        assert (
            "1040 schedules and entries of calendars have too many starts for one reconcile"
            in message
        )
        assert workspace.replicas() == 2, "the metric proposes 1"
