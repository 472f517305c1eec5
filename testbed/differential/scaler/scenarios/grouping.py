"""PURE  Which pods count: ready, unready, missing and ignored ones, and the values assumed for them."""

from typing import Any

import msgspec

from testbed.differential.scaler.scenario_model import ClusterState, Scenario
from testbed.differential.scaler.scenarios.parts import (
    average,
    changed,
    object_metric,
    of_pods,
    of_service,
    pods,
    pods_metric,
    resource,
    scenario,
    spec,
    state,
    then,
    total,
    usage,
    utilization,
)

CPU = resource("cpu", utilization(50))
HIGH, LOW = "900m", "100m"
# Started too recently for its cpu to count, with times that keep their order while the test runs.
HOT = {"started_seconds_ago": 20.0, "ready_changed_seconds_ago": 10.0}


def _cpu(number: int = 0, level: str = HIGH, count: int = 4, **fields: Any) -> ClusterState:
    """`count` pods with cpu at `level`, one pod changed."""
    return state(
        spec(CPU),
        replicas=count,
        all_pods=changed(pods(count), number, **fields),
        measured=usage(*[level] * count),
    )


def _both_ways(name: str, **fields: Any) -> Scenario:
    """One special pod of four, at high, low and medium usage."""
    first = _cpu(**fields)
    return scenario(
        "grouping",
        name,
        first,
        then(first, measured=usage(*[LOW] * 4)),
        then(first, measured=usage(*["500m"] * 4)),
    )


def _states() -> list[Scenario]:
    return [
        _both_ways("a pod that is not ready", ready="False", **HOT),
        _both_ways("a pod that was never ready", ready="False", ready_changed_seconds_ago=3600.0),
        _both_ways("a pod that is no longer ready", ready="False", ready_changed_seconds_ago=60.0),
        _both_ways("a pod of unknown readiness", ready="Unknown"),
        _both_ways("a pod without the condition Ready", ready=None),
        _both_ways("a pod that has not started", started_seconds_ago=None),
        _both_ways("a pod that started recently", **HOT),
        _both_ways("a pending pod", phase="Pending", ready=None, started_seconds_ago=None),
        _both_ways("a failed pod", phase="Failed", ready="False"),
        _both_ways(
            "a succeeded pod", phase="Succeeded", ready="False", ready_changed_seconds_ago=60.0
        ),
        _both_ways("a pod in an unknown phase", phase="Unknown"),
        _both_ways("a terminating pod", deleting=True),
    ]


def _missing() -> list[Scenario]:
    first = state(spec(CPU), replicas=4, all_pods=4, measured=usage(HIGH, HIGH, HIGH))
    over = state(
        spec(resource("cpu", utilization(150))),
        replicas=4,
        all_pods=4,
        measured=usage("900m", "900m", "900m"),
    )
    return [
        scenario(
            "grouping",
            "a pod without a sample",
            first,
            then(first, measured=usage(LOW, LOW, LOW)),
            then(first, measured=usage("500m", "500m", "500m")),
        ),
        scenario("grouping", "missing pods at a target over 100", over),
        scenario(
            "grouping",
            "assumed values reverse the direction",
            state(spec(CPU), replicas=6, all_pods=6, measured=usage("600m", "600m", "600m")),
            then(first, replicas=6, all_pods=6, measured=usage("400m", "400m", "400m")),
        ),
        scenario(
            "grouping",
            "no pod has a sample",
            state(spec(CPU), measured=(msgspec.structs.replace(usage(HIGH)[0], pod="other"),)),
        ),
        scenario(
            "grouping",
            "samples of pods that do not exist",
            state(spec(CPU), all_pods=2, replicas=2, measured=usage(HIGH, HIGH, HIGH, HIGH)),
            then(first, all_pods=2, measured=usage(LOW, "", HIGH, HIGH)),
        ),
        scenario(
            "grouping",
            "a plain average counts samples of pods that do not exist",
            state(
                spec(resource("cpu", average("500m"))),
                all_pods=2,
                replicas=2,
                measured=usage(HIGH, HIGH, "3", "3"),
            ),
        ),
        scenario(
            "grouping",
            "every pod is unready",
            state(
                spec(CPU),
                all_pods=pods(3, ready="False", ready_changed_seconds_ago=3600.0),
                measured=usage(HIGH, HIGH, HIGH),
            ),
        ),
        scenario(
            "grouping", "there are no pods", state(spec(CPU), all_pods=0, measured=usage(HIGH))
        ),
    ]


def _samples_in_time() -> list[Scenario]:
    recent = changed(pods(4), 0, started_seconds_ago=100.0, ready_changed_seconds_ago=90.0)
    young = state(
        spec(CPU), replicas=4, all_pods=recent, measured=usage(*[HIGH] * 4, window_seconds=30)
    )
    return [
        scenario(
            "grouping",
            "a young pod's sample counts when its window began after it was ready",
            young,
            then(young, measured=usage(*[HIGH] * 4, window_seconds=600)),
        ),
        scenario(
            "grouping",
            "average cpu depends on readiness as well",
            state(
                spec(resource("cpu", average("500m"))),
                replicas=4,
                all_pods=changed(pods(4), 1, **HOT),
                measured=usage(*[HIGH] * 4),
            ),
        ),
        scenario(
            "grouping",
            "memory does not depend on readiness",
            state(
                spec(resource("memory", utilization(20))),
                replicas=4,
                all_pods=changed(pods(4), 1, ready="False"),
                measured=usage(*[HIGH] * 4),
            ),
        ),
        scenario(
            "grouping",
            "three ready pods of ten",
            state(spec(CPU), replicas=10, all_pods=3, measured=usage("750m", "750m", "750m")),
        ),
    ]


def _other_metrics() -> list[Scenario]:
    four = pods(4)
    rate = spec(pods_metric("rps", "10"))
    rates = of_pods("rps", "20", "20", "20", "20")
    ready = state(
        spec(object_metric("rps", total("100"))),
        replicas=4,
        all_pods=changed(four, 0, deleting=True),
        responses=of_service("rps", "195"),
    )
    return [
        scenario(
            "grouping",
            "pending pods dampen a pods metric",
            state(
                rate,
                replicas=4,
                all_pods=changed(four, 0, phase="Pending", ready=None),
                responses=rates,
            ),
        ),
        scenario(
            "grouping",
            "a pods metric does not depend on readiness",
            state(rate, replicas=4, all_pods=changed(four, 0, ready="False"), responses=rates),
        ),
        scenario("grouping", "a terminating pod is ready for an object metric", ready),
        scenario(
            "grouping",
            "an object metric counts ready pods only",
            then(
                ready,
                replicas=4,
                all_pods=changed(changed(four, 0, ready="Unknown"), 1, ready="False"),
            ),
        ),
        scenario(
            "grouping",
            "an object metric without any ready pod",
            then(ready, replicas=4, all_pods=pods(4, ready="False")),
            then(ready, replicas=4, all_pods=()),
        ),
    ]


def grouping_scenarios() -> tuple[Scenario, ...]:
    """All of them."""
    return (*_states(), *_missing(), *_samples_in_time(), *_other_metrics())
