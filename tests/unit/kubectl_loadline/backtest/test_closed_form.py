"""Trajectories that can be computed by hand: a step, a ramp and a wave, for each type of metric."""

import math

import msgspec
import pytest

from kubectl_loadline.backtest.comparison import Policy, Range, Scenario, oracle, play, scored
from kubectl_loadline.backtest.metric_models import ModelOptions, models_of
from kubectl_loadline.backtest.recording import Recording
from kubectl_loadline.backtest.series import Series
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Behavior
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    at_most,
    autoscaler,
    average,
    container,
    external,
    named,
    of_pods,
    resource,
    rules,
    spec,
    utilization,
)

START = 1_000_020
LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS)
REQUESTS = named(of_pods(average("10")), "load")
AT_ONCE = Behavior(scale_up=rules(window_seconds=0), scale_down=rules(window_seconds=0))
CPU_POD = PodSpec(containers=(container("app", cpu="1"),))


def scenario(loads, of, *, delay_seconds=60, pod_spec=CPU_POD, **more):
    """`loads` by name: one value per minute, as it can be read."""
    series = {
        name: Series(start_unix_seconds=START, step_seconds=60, values=tuple(values))
        for name, values in loads.items()
    }
    recording = Recording(step_seconds=60, series=series)
    options = ModelOptions(delays=dict.fromkeys(loads, delay_seconds), pod_spec=pod_spec, **more)
    minutes = max(len(values) for values in loads.values())
    return Scenario(
        recording=recording,
        models=models_of(of, recording, options),
        range=Range(
            start_unix_seconds=START,
            end_unix_seconds=START + 60 * minutes,
            step_seconds=60,
            scored_from_unix_seconds=START,
        ),
        pod_spec=pod_spec,
    )


def played(loads, *metrics, start_up_seconds=120, behavior=None, most=100, **more):
    of = autoscaler(spec(*metrics, behavior=behavior, max_replicas=most))
    within = scenario(loads, of, **more)
    return play(Policy(name="one", autoscaler=of, settings=LA), within, start_up_seconds)


def test_a_step_of_the_load_of_pods_is_followed_at_once_and_served_after_the_start_up():
    """4 pods at 10 each; then 80: ratio 2, so 8 (the rate without behavior allows 8), ready two minutes later."""
    found = played({"load": [40, 40, 80, 80, 80, 80], "replicas": [4] * 6}, REQUESTS)
    assert list(found.requested) == [4, 4, 8, 8, 8, 8]
    assert list(found.ready) == [4, 4, 4, 4, 8, 8]


def test_while_pods_start_they_count_as_idle_so_the_step_is_not_followed_twice():
    """At the third minute, 4 ready pods have 20 each and 4 start: (80 + 0) / 8 pods is the target, so 8 are kept."""
    found = played(
        {"load": [40, 80, 80, 80, 80], "replicas": [4] * 5}, REQUESTS, start_up_seconds=180
    )
    assert list(found.requested) == [4, 8, 8, 8, 8]


def test_a_step_down_waits_for_the_stabilization_window():
    """The last high recommendation is of the second minute, and counts for five minutes, the fifth included."""
    loads = [80] * 2 + [40] * 8
    found = played({"load": loads, "replicas": [8] * 10}, REQUESTS)
    assert list(found.requested) == [8, 8, 8, 8, 8, 8, 8, 4, 4, 4]


def test_a_ramp_is_followed_by_the_rule_of_the_ratio():
    """An External average: ceil(load / 10), as soon as it is more than a tenth above the target."""
    loads = [40 + 3 * minute for minute in range(20)]
    found = played(
        {"queue_of": loads, "replicas": [4] * 20}, external(average("10"), name="queue_of"),
        behavior=AT_ONCE, kinds={"queue_of": "load"},
    )  # fmt: skip
    expected, count = [], 4
    for load in loads:
        if not 9 * count <= load <= 11 * count:
            count = math.ceil(load / 10)
        expected.append(count)
    assert list(found.requested) == expected
    assert expected[-1] == 10


def test_a_wave_is_followed_up_at_once_and_down_after_the_highest_of_five_minutes():
    loads = [100 + 60 * math.sin(2 * math.pi * minute / 40) for minute in range(120)]
    found = played(
        {"load": loads, "replicas": [10] * 120}, named(external(average("10"), name="requests"), "load"),
        start_up_seconds=60, most=16,
    )  # fmt: skip
    count, past, expected = 10, [(0, 10)], []
    for minute, load in enumerate(loads):
        wanted = (
            count if abs(load / (10 * count) - 1) <= 0.1 else math.ceil(round(load * 1000) / 10000)
        )
        past.append((minute, wanted))
        count = min(16, max(replicas for at, replicas in past if at >= minute - 5))
        expected.append(count)
    assert list(found.requested) == expected
    assert (min(expected), max(expected)) == (5, 16)


def test_the_policy_of_the_behavior_limits_a_step():
    behavior = Behavior(scale_up=rules(at_most("Pods", 2, 60)))
    found = played({"load": [40, 120, 120, 120], "replicas": [4] * 4}, REQUESTS, behavior=behavior)
    assert list(found.requested) == [4, 6, 8, 10]


def test_the_utilization_of_cpu_is_the_usage_over_the_requests_of_the_ready_pods():
    """4 pods of 1 cpu at 50%: 2 cpus. Then 4 cpus: ratio 2."""
    found = played({"cpu": [2, 4, 4, 4, 4, 4], "replicas": [4] * 6}, resource(utilization(50)))
    assert list(found.requested) == [4, 8, 8, 8, 8, 8]


def test_a_queue_grows_with_what_arrives_and_shrinks_with_what_the_pods_complete():
    """With two replicas, which complete 5/s each, it grew by 10/s: so 20/s arrive, and 4 replicas hold its length."""
    queue = named(external(average("600"), name="queue_length"), "queue")
    lengths = [600 * minute for minute in range(8)]
    found = played(
        {"queue": lengths, "replicas": [2] * 8}, queue,
        start_up_seconds=60, service_rates={"queue": 5.0}, behavior=AT_ONCE,
    )  # fmt: skip
    # Its length by minute: 0, 900 (1 ready), 1800 (1), 2400 (2), 2700 (3), 2700 (4), 2400 (5), 2400 (4).
    assert list(found.requested) == [1, 2, 3, 4, 5, 5, 4, 4]
    assert list(found.ready) == [2, 1, 2, 3, 4, 5, 5, 4]


def test_the_oracle_has_the_demand_one_start_up_time_ahead():
    of = autoscaler(spec(REQUESTS))
    within = scenario({"load": [90, 90, 90, 180, 180, 90, 90]}, of, delay_seconds=0)
    found = oracle(within, of, 120)
    # A replica serves 9/7 of the target: 90 needs 7, 180 needs 14.
    assert list(found.requested) == [7, 14, 14, 14, 14, 7, 7]
    assert list(found.ready) == [7, 7, 7, 14, 14, 7, 7]
    assert scored(found, within).under_timeshare == 0


@pytest.mark.parametrize("name", ["load", "cpu", "queue"])
def test_no_decision_depends_on_the_future(name):
    """All values from a minute on are replaced: the decisions before it are the same, also of a forecast."""
    metrics = {
        "load": REQUESTS,
        "cpu": named(resource(utilization(50)), "cpu"),
        "queue": named(external(average("600"), name="queue_length"), "queue"),
    }
    values = [600 + 500 * math.sin(minute / 30) for minute in range(300)]
    if name == "cpu":
        values = [value / 100 for value in values]
    corrupted = [*values[:200], *(value * 5 + 70 for value in values[200:])]
    found = []
    for each in (values, corrupted):
        of = autoscaler(spec(metrics[name]))
        within = scenario({name: each, "replicas": [5] * 300}, of, service_rates={"queue": 2.0})
        decisions = []
        play(Policy(name="one", autoscaler=of, settings=LA), within, 120, decisions.append)
        found.append(decisions)
    assert found[0][:200] == found[1][:200]
    assert found[0][200].derivation != found[1][200].derivation


def test_during_a_gap_nothing_is_decided_or_scored():
    loads = [40, 40, None, None, 40]
    of = autoscaler(spec(REQUESTS))
    within = scenario({"load": loads, "replicas": [4] * 5}, of)
    found = play(Policy(name="one", autoscaler=of, settings=LA), within, 60)
    assert [(at - START) // 60 for at in found.times] == [0, 1, 4]


def test_a_metric_object_of_a_candidate_finds_the_series_of_the_same_metric():
    of = autoscaler(spec(REQUESTS))
    within = scenario({"load": [40, 80, 80], "replicas": [4] * 3}, of)
    halved = msgspec.structs.replace(of, spec=spec(named(of_pods(average("5")), "load")))
    found = play(Policy(name="half", autoscaler=halved, settings=LA), within, 60)
    assert found.requested[0] == 8


def test_a_candidate_on_another_metric_is_replayed_and_does_not_change_the_demand():
    """The load needs 7 replicas for 90 (a replica serves 9/7 of 10); by its CPU usage, the candidate has 4."""
    of = autoscaler(spec(REQUESTS))
    other = msgspec.structs.replace(of, spec=spec(resource(utilization(50))))
    names = {"load": [90] * 4, "cpu": [2] * 4, "replicas": [9] * 4}
    series = {
        name: Series(start_unix_seconds=START, step_seconds=60, values=tuple(values))
        for name, values in names.items()
    }
    recording = Recording(step_seconds=60, series=series)
    options = ModelOptions(pod_spec=CPU_POD)
    within = msgspec.structs.replace(
        scenario({"load": [90] * 4}, of),
        recording=recording,
        models=models_of(of, recording, options, [other]),
    )
    found = play(Policy(name="cpu", autoscaler=other, settings=LA), within, 60)
    assert found.requested[-1] == 9
    at_once = msgspec.structs.replace(other.spec, behavior=AT_ONCE)
    other = msgspec.structs.replace(other, spec=at_once)
    found = play(Policy(name="cpu", autoscaler=other, settings=LA), within, 60)
    assert found.requested[-1] == 4
    # Of the last minute, the load is not known yet.
    assert list(oracle(within, of, 60).requested)[:3] == [7] * 3
