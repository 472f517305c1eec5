"""One reconcile: what is read, written, reported and remembered, and in which order."""

import asyncio
import logging

import msgspec
import pytest
from prometheus_client import generate_latest

from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.api.autoscaler import AutoscalerStatus
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from tests.unit.scaler.control.world import (
    KEY,
    NOW_SECONDS,
    SCALE_PATH,
    SPEC,
    World,
    autoscaler,
)
from wire.api.status import StatusError, Unavailable, conflict, not_found


async def test_a_reconcile_scales_emits_an_event_and_writes_the_status():
    world = World()
    assert await world.reconcile()
    paths = [path for path, _ in world.kube.put]
    assert paths == [
        SCALE_PATH,
        "/apis/loadline.io/v1beta1/namespaces/shop/loadautoscalers/web/status",
    ]
    assert world.kube.put[0][1]["spec"] == {"replicas": 3}
    reason = "external metric queue(nil) above target"
    assert world.reported() == [("Normal", "SuccessfulRescale", f"New size: 3; reason: {reason}")]
    status = world.status()
    assert (status["currentReplicas"], status["desiredReplicas"]) == (1, 3)
    assert status["observedGeneration"] == 2
    assert (status["reference"], status["targets"]) == ("Deployment/web", "30/10 (avg)")
    assert world.conditions()["AbleToScale"] == ("True", "SucceededRescale")


async def test_the_rest_of_the_object_is_written_back_as_it_was():
    """A PUT of a status also replaces labels, so they have to be in it."""
    world = World()
    await world.reconcile()
    body = world.kube.put[-1][1]
    assert (body["apiVersion"], body["kind"]) == ("loadline.io/v1beta1", "LoadAutoscaler")
    metadata = body["metadata"]
    assert (metadata["resourceVersion"], metadata["labels"]) == ("5", {"team": "shop"})
    assert body["spec"]["maxReplicas"] == 9


async def test_an_hpa_gets_the_status_of_an_hpa():
    world = World(kind=HORIZONTAL_POD_AUTOSCALERS)
    await world.reconcile()
    assert not {"reference", "targets", "history", "decision"} & set(world.status())
    assert world.kube.requested[0][0] == SCALE_PATH


async def test_an_unchanged_status_is_not_written():
    world = World()
    world.scaled(3)
    await world.reconcile()
    written = msgspec.convert(world.status(), AutoscalerStatus)
    world.autoscalers.by_key[KEY] = msgspec.structs.replace(
        world.autoscalers.by_key[KEY], status=written
    )
    writes = len(world.kube.put)
    world.now_seconds += 15
    await world.reconcile()
    assert len(world.kube.put) == writes


async def test_a_failed_metric_keeps_the_replicas_and_is_reported_after_the_status():
    world = World(MetricFailed("unable to fetch metrics from external metrics API: down"))
    await world.reconcile()
    assert [path for path, _ in world.kube.put] == [
        f"{LOAD_AUTOSCALERS.object('shop', 'web')}/status"
    ]
    assert world.conditions()["ScalingActive"] == ("False", "FailedGetExternalMetric")
    assert [reason for _, reason, _ in world.reported()] == [
        "FailedGetExternalMetric",
        "FailedComputeMetricsReplicas",
    ]


async def test_a_failed_write_of_the_scale_is_reported_with_its_reason():
    world = World()
    world.kube.put_answers = [not_found("gone")]
    await world.reconcile()
    kind, reason, message = world.reported()[0]
    assert (kind, reason) == ("Warning", "FailedRescale")
    assert message.endswith("error: gone")
    assert world.conditions()["AbleToScale"] == ("False", "FailedUpdateScale")


async def test_a_failed_write_of_the_status_is_reported_and_not_retried(caplog):
    world = World()
    world.kube.put_answers = [b"{}", conflict("the object has been modified")]
    with caplog.at_level(logging.INFO):
        assert await world.reconcile()
    assert world.reported()[-1] == ("Warning", "FailedUpdateStatus", "the object has been modified")
    assert len(world.kube.put) == 2
    assert "failed to update status for web: the object has been modified" in caplog.text
    counted = world.telemetry.registry.get_sample_value(
        "loadline_scaler_reconciliations_total", {"action": "scale_up", "error": "internal"}
    )
    assert counted == 1


async def test_recommendations_are_remembered_between_reconciles():
    """Six were recommended; the low reading after it must not stop the scale-up."""
    world = World(ExternalValues((60_000,)), ExternalValues((10_000,)))
    world.scaled(3)
    await world.reconcile()
    world.kube.put.clear()
    world.now_seconds += 15
    await world.reconcile()
    assert world.kube.put[0] == (SCALE_PATH, {**world.kube.put[0][1], "spec": {"replicas": 6}})
    assert world.conditions()["AbleToScale"] == ("True", "SucceededRescale")


async def test_a_new_process_continues_with_the_history_of_a_loadautoscaler():
    """Six were recommended a minute ago; a process that starts now must not begin with the current count."""
    world = World(ExternalValues((10_000,)))
    past = {
        "replicas": 6,
        "sinceUnixSeconds": NOW_SECONDS - 75,
        "untilUnixSeconds": NOW_SECONDS - 60,
    }
    world.kube.serve(
        LOAD_AUTOSCALERS.object("shop", "web"), {"status": {"history": {"recommendations": [past]}}}
    )
    world.scaled(3)
    await world.reconcile()
    assert world.kube.put[0][1]["spec"] == {"replicas": 6}


async def test_nothing_is_scaled_while_the_history_cannot_be_read():
    world = World()
    world.kube.answers[LOAD_AUTOSCALERS.object("shop", "web")] = Unavailable("connection refused")
    assert await world.reconcile()
    assert world.kube.put == []


@pytest.mark.deviation("gauge-removed")
async def test_nothing_is_scaled_or_stored_while_something_else_responds_in_place_of_the_history():
    """An empty object would be an empty history, and the next status would replace the one that is stored."""
    world = World(ExternalValues((10_000,)))
    world.kube.answers[LOAD_AUTOSCALERS.object("shop", "web")] = b'{"message": "ok"}'
    await world.reconcile()
    assert world.kube.put == []


async def test_the_memory_of_a_deleted_autoscaler_is_dropped():
    world = World()
    await world.reconcile()
    del world.autoscalers.by_key[KEY]
    assert not await world.reconcile()
    assert world.reconciler.derivation(KEY) is None
    assert world.reconciler._records == {}
    gauge = "loadline_scaler_desired_replicas"
    assert gauge + "{" not in generate_latest(world.telemetry.registry).decode()


async def test_a_process_that_another_one_led_after_drops_its_memory():
    world = World()
    await world.reconcile()
    world.reconciler.leave()
    world.reconciler.forget()
    assert (world.reconciler._records, world.reconciler.derivation(KEY)) == ({}, None)


async def test_a_process_that_leads_again_continues_with_its_memory_though_nothing_could_be_stored():
    world = World(ExternalValues((90_000,)))
    world.kube.put_answers = [b"{}", Unavailable("connection refused")]
    await world.sync(15)
    before = world.reconciler._records[KEY].memory.memory
    assert before.recommendations
    world.reconciler.leave()
    await world.sync(30)
    after = world.reconciler._records[KEY].memory.memory
    assert after.recommendations is not None
    assert set(before.recommendations[:-1]) <= set(after.recommendations)
    assert after.recommendations[0].since_unix_seconds == (
        before.recommendations[0].since_unix_seconds
    )


async def test_an_autoscaler_that_was_deleted_while_another_process_led_is_forgotten():
    world = World()
    await world.reconcile()
    world.reconciler.leave()
    world.reconciler.deleted(world.autoscalers.by_key.pop(KEY))
    assert world.reconciler._records == {}


async def test_a_cancelled_reconcile_leaves_only_what_is_stored():
    """It may have scaled the target; the status shows which replicas are known."""
    world = World()
    await world.reconcile()
    world.kube.put_answers = [asyncio.CancelledError()]
    with pytest.raises(asyncio.CancelledError):
        await world.sync(400)
    assert world.reconciler._records[KEY].memory is None


async def test_the_last_derivation_is_available():
    world = World()
    await world.reconcile()
    derivation = world.reconciler.derivation(KEY)
    assert derivation is not None
    assert (derivation.current_replicas, derivation.desired_replicas) == (1, 3)


async def test_a_count_whose_write_was_refused_is_not_exported_as_desired():
    world = World()
    await world.sync(30)
    world.kube.put_answers = [StatusError("denied by a webhook", code=403, reason="Forbidden")]
    await world.sync(60)
    labels = {"namespace": "shop", "name": "web", "kind": "LoadAutoscaler"}
    value = world.telemetry.registry.get_sample_value
    assert value("loadline_scaler_desired_replicas", labels) == 3
    await world.sync(60)
    assert value("loadline_scaler_desired_replicas", labels) == 6


@pytest.mark.deviation("shared-target")
@pytest.mark.parametrize(
    "replicas",
    [
        pytest.param(1, id="by metrics"),
        pytest.param(20, id="above the maximum"),
        pytest.param(0, id="at zero"),
    ],
)
async def test_a_target_that_an_hpa_names_is_not_scaled_on_any_branch(replicas):
    world = World()
    world.rivals.follow("HorizontalPodAutoscaler")(
        None, autoscaler(metadata={"namespace": "shop", "name": "hpa"})
    )
    world.scaled(replicas)
    await world.reconcile()
    assert [path for path, _ in world.kube.put] == [
        f"{LOAD_AUTOSCALERS.object('shop', 'web')}/status"
    ]
    assert world.conditions()["ScalingActive"] == ("False", "AmbiguousSelector")
    message = (
        "Deployment/web is scaled by HorizontalPodAutoscaler shop/hpa as well: delete one of them"
    )
    assert world.reported() == [("Warning", "AmbiguousSelector", message)]
    assert (world.status().get("currentReplicas", 0), world.status()["desiredReplicas"]) == (
        replicas,
        0,
    )
    assert world.measurements.requested == []


async def test_metrics_are_not_read_when_the_bounds_decide():
    world = World()
    world.scaled(20)
    await world.reconcile()
    assert world.measurements.requested == []
    assert world.kube.put[0][1]["spec"] == {"replicas": 9}


async def test_reconciles_and_metrics_are_counted_as_the_hpa_controller_counts_them():
    world = World()
    await world.reconcile()
    value = world.telemetry.registry.get_sample_value
    assert (
        value("loadline_scaler_reconciliations_total", {"action": "scale_up", "error": "none"}) == 1
    )
    labels = {"action": "scale_up", "error": "none", "metric_type": "External"}
    assert value("loadline_scaler_metric_computation_total", labels) == 1
    assert value("loadline_scaler_metric_computation_duration_seconds_count", labels) == 1
    del labels["metric_type"]
    assert value("loadline_scaler_reconciliation_duration_seconds_count", labels) == 1
    labels_of_one = {"namespace": "shop", "name": "web", "kind": "LoadAutoscaler"}
    assert value("loadline_scaler_desired_replicas", labels_of_one) == 3


async def test_a_dry_run_beside_an_hpa_reports_and_does_not_write_the_scale():
    dry = autoscaler(spec={**SPEC, "mode": "DryRun", "syncPeriodSeconds": 5})
    world = World(object=dry)
    world.rivals.follow("HorizontalPodAutoscaler")(None, autoscaler())
    world.scaled(1)
    await world.reconcile()
    assert [path for path, _ in world.kube.put] == [f"{world.kind.object('shop', 'web')}/status"]
    assert world.status()["desiredReplicas"] == 3
    assert world.conditions()["DryRun"] == ("True", "DryRun")
    assert [each[1] for each in world.reported()] == ["DryRunRescale"]
    assert world.measurements.periods_seconds == [5]
