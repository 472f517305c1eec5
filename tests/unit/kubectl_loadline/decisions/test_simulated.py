"""`loadline-scaler simulate`: the decision for other metrics, another time and another count, by the same functions."""

import json
from datetime import UTC, datetime

import pytest

from kubectl_loadline.decisions.simulated import Simulation, parser, printed, simulate
from scaler.algorithm.settings import Settings
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.fakes.scaler import FakeKube, FakeMapper, resource
from tests.unit.scaler.control.world import NOW_SECONDS, SCALE_PATH, SPEC

PATH = "/apis/loadline.io/v1beta1/namespaces/shop/loadautoscalers/web"
PODS = "/api/v1/namespaces/shop/pods"
QUEUE = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"


def cluster(*, history=None, known=None, replicas=3, pods=3, **spec):
    kube = FakeKube()
    metadata = {"namespace": "shop", "name": "web"}
    counts = {} if known is None else {"desiredReplicas": known, "currentReplicas": known}
    status = {} if history is None else {"status": {"history": history, **counts}}
    kube.serve(PATH, {"metadata": metadata, "spec": {**SPEC, **spec}, **status})
    scale = {"spec": {"replicas": replicas}, "status": {"replicas": replicas, "selector": "app=w"}}
    kube.serve(SCALE_PATH, {"metadata": {}, **scale})
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    names = [{"name": f"web-{number}", "namespace": "shop"} for number in range(pods)]
    kube.serve(PODS, {"items": [{"metadata": each, "status": running} for each in names]})
    item = {"metricName": "queue", "timestamp": "2026-01-01T00:00:00Z", "value": "30"}
    kube.serve(QUEUE, {"items": [item]})
    return kube


SETTINGS = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)


async def decided(kube, *, at=NOW_SECONDS, replicas=None, **values):
    simulation = Simulation(
        autoscaler="shop/web",
        settings=SETTINGS,
        values=values,
        at_unix_seconds=at,
        replicas=replicas,
    )
    mapper = FakeMapper(resource("apps", "v1", "deployments", "Deployment"))
    return await simulate(simulation, kube, kube, mapper)


async def test_a_given_metric_is_not_read_and_nothing_is_written():
    kube = cluster()
    assert (await decided(kube, queue="55")).desired_replicas == 6
    assert QUEUE not in [path for path, _ in kube.requested]
    assert kube.put == kube.patched == []


async def test_a_metric_that_is_not_given_is_read():
    kube = cluster(replicas=2)
    assert (await decided(kube)).desired_replicas == 3
    assert QUEUE in [path for path, _ in kube.requested]


async def test_the_replicas_may_be_others():
    assert (await decided(cluster(), queue="80", replicas=1)).desired_replicas == 4
    assert (await decided(cluster(), queue="80", replicas=12)).branch == "AboveMax"


async def test_given_replicas_are_not_a_change_that_the_policies_count():
    policy = {"type": "Pods", "value": 2, "periodSeconds": 60}
    behavior = {"scaleUp": {"policies": [policy]}}
    kube = cluster(history={"recommendations": []}, known=3, behavior=behavior)
    assert (await decided(kube, queue="300", replicas=5)).desired_replicas == 7


@pytest.mark.parametrize(
    ("seconds_later", "expected"),
    [
        pytest.param(200, 5, id="within the window"),
        pytest.param(400, 1, id="after it"),
    ],
)
async def test_the_history_counts_at_the_given_time(seconds_later, expected):
    step = {"sinceUnixSeconds": NOW_SECONDS, "untilUnixSeconds": NOW_SECONDS}
    low = {"sinceUnixSeconds": NOW_SECONDS + 1, "untilUnixSeconds": NOW_SECONDS + 1}
    history = {"recommendations": [{"replicas": 5, **step}, {"replicas": 1, **low}]}
    kube = cluster(history=history, replicas=1)
    found = await decided(kube, at=NOW_SECONDS + seconds_later, queue="5")
    assert found.desired_replicas == (4 if expected == 5 else 1)  # from 1, at most 4 at once


async def test_a_suspension_has_ended_at_a_later_time():
    until = datetime.fromtimestamp(NOW_SECONDS, UTC).isoformat()
    kube = cluster(suspend={"direction": "Both", "until": until})
    before = await decided(kube, at=NOW_SECONDS - 1, queue="50")
    assert (before.desired_replicas, before.derivation.proposed) == (3, 5)
    assert (await decided(kube, at=NOW_SECONDS, queue="50")).desired_replicas == 5


async def test_a_failure_can_be_simulated():
    found = await decided(cluster(), queue="fails")
    assert found.desired_replicas is None
    assert "the failure is simulated" in printed(found, SETTINGS, "text")


async def test_a_metric_per_pod_has_the_value_in_each_pod():
    target = {"type": "AverageValue", "averageValue": "10"}
    metric = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": target}}
    kube = cluster(metrics=[metric])
    assert (await decided(kube, rps="20")).desired_replicas == 6


async def test_a_name_must_be_that_of_one_metric():
    with pytest.raises(ValueError, match="unknown metric 'cueue': did you mean queue\\?"):
        await decided(cluster(), cueue="1")
    twice = [{**SPEC["metrics"][0], "name": name} for name in ("a", "b")]
    with pytest.raises(ValueError, match="several metrics have the name 'queue': use a or b"):
        await decided(cluster(metrics=twice), queue="1")
    with pytest.raises(ValueError, match="unknown metric 'other': use a or b"):
        await decided(cluster(metrics=twice), other="1")
    assert (await decided(cluster(metrics=twice), a="80", b="10")).desired_replicas == 6


async def test_the_output_is_the_text_of_why_or_the_derivation_as_json():
    found = await decided(cluster(), queue="55")
    assert printed(found, SETTINGS, "text").startswith("shop/web goes from 3 to 6 replicas.\n")
    assert json.loads(printed(found, SETTINGS, "json"))["desired_replicas"] == 6


@pytest.mark.parametrize(
    ("text", "unix_seconds"),
    [
        pytest.param("2026-11-27T08:00", 1795766400.0, id="UTC without an offset"),
        pytest.param("2026-11-27T08:00:30+01:00", 1795762830.0, id="with an offset"),
    ],
)
def test_the_time_is_read(text, unix_seconds):
    assert parser().parse_args(["a/b", "--at", text]).at == unix_seconds


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        pytest.param("--at=tomorrow", "'tomorrow' is not a time such as", id="time"),
        pytest.param("--metric=queue", "'queue' is not of the form NAME=VALUE", id="metric"),
        pytest.param("--replicas=-1", "'-1' is not a whole number of 0 or more", id="replicas"),
    ],
)
def test_a_wrong_flag_says_what_is_expected(flag, message, capsys):
    with pytest.raises(SystemExit):
        parser().parse_args(["a/b", flag])
    assert message in capsys.readouterr().err


async def test_schedules_and_their_calendars_apply_at_the_given_time():
    reference = {"kind": "ScalingCalendar", "name": "retail"}
    entry = {
        "name": "sale",
        "start": "2026-11-27T00:00:00",
        "durationSeconds": 86400,
        "minReplicas": 8,
    }
    kube = cluster(schedules=[{"name": "holidays", "calendarRef": reference}])
    kube.serve(
        "/apis/loadline.io/v1beta1/namespaces/shop/scalingcalendars/retail",
        {"metadata": {"namespace": "shop", "name": "retail"}, "spec": {"entries": [entry]}},
    )
    sale = datetime(2026, 11, 27, 8, tzinfo=UTC).timestamp()
    assert (await decided(kube, at=sale, queue="30")).desired_replicas == 8
    assert (await decided(kube, at=sale + 86_400, queue="30")).desired_replicas == 3


async def test_a_calendar_that_cannot_be_read_is_named():
    reference = {"kind": "ClusterScalingCalendar", "name": "retail"}
    kube = cluster(schedules=[{"name": "holidays", "calendarRef": reference}])
    found = await decided(kube, queue="10")
    assert "ClusterScalingCalendar retail cannot be read" in found.derivation.remarks[0].message


async def test_a_formula_is_not_given_but_computed():
    target = {"type": "AverageValue", "averageValue": "1"}
    formula = {
        "type": "Formula",
        "name": "load",
        "formula": {"expression": "queue / 5", "target": target},
    }
    metrics = [{**SPEC["metrics"][0], "name": "queue", "use": "Input"}, formula]
    found = await decided(cluster(metrics=metrics), queue="20")
    assert found.derivation.metrics[1].proposal == 4
    with pytest.raises(ValueError, match="load is a formula: give the metrics"):
        await decided(cluster(metrics=metrics), load="20")
