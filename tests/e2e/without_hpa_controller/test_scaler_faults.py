"""No fault makes a wrong scale: competing autoscalers, conflicts, and scalers that are killed.

kube-apiserver's audit log has every write of a scale, with its user and time. `LOADLINE_KILLS=20` kills more often.
"""

import http.client
import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import msgspec
import pytest

from testbed.audit_log import ScaleWrite
from testbed.cluster import Cluster
from testbed.programs import LoadlineProcess
from testbed.waiting import holds, until
from tests.e2e.conftest import SYNC_PERIOD_SECONDS, StartScaler
from tests.e2e.scaler_objects import (
    HPA,
    LA,
    Json,
    Workspace,
    autoscaler,
    plain_queue,
    workload,
)

KILLS = int(os.environ.get("LOADLINE_KILLS", "5"))
LEADER_ELECTION = (
    "--leader-elect",
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
)


def queue_autoscaler(namespace: str, **changes: object) -> Json:
    """An autoscaler with a target of 10 per replica for a metric whose value the test sets."""
    return autoscaler(namespace, plain_queue("10"), **{"maxReplicas": 9, **changes})


@pytest.mark.deviation("shared-target")
def test_two_autoscalers_with_disjoint_bounds_on_one_target_do_not_alternate(
    cluster, metrics_api, namespace, start_scaler, audit_log
):
    metrics_api.values[f"{namespace}/queue"] = "50"
    cluster.apply(
        workload("Deployment", namespace, 5),
        queue_autoscaler(namespace, name="low", minReplicas=1, maxReplicas=10),
        queue_autoscaler(namespace, name="high", minReplicas=12, maxReplicas=20),
    )
    start_scaler()
    for name in ("low", "high"):
        Workspace(cluster, namespace, name=name).has_condition(
            "ScalingActive", "False", "AmbiguousSelector"
        )
    before = audit_log.scale_writes(namespace)
    holds(lambda: audit_log.scale_writes(namespace) == before, seconds=10 * SYNC_PERIOD_SECONDS)


@contextmanager
def labelled_continuously(cluster: Cluster, path: str) -> Iterator[None]:
    """Another client that changes a label of an object all the time, so that status updates conflict."""
    stop = threading.Event()
    port = cluster.api_port

    def label() -> None:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", port, context=cluster.administrator_tls
        )
        for number in itertools.count():
            body = msgspec.json.encode({"metadata": {"labels": {"touched": str(number)}}})
            headers = {"Content-Type": "application/merge-patch+json"}
            connection.request("PATCH", path, body=body, headers=headers)
            connection.getresponse().read()
            # Without a pause, hardly any status update would ever succeed.
            if stop.wait(0.01):
                break
        connection.close()

    thread = threading.Thread(target=label)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_workload_scaled_to_zero_during_conflicts_is_scaled_up_again(
    cluster, metrics_api, namespace, start_scaler
):
    workspace = Workspace(cluster, namespace)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), queue_autoscaler(namespace, minReplicas=0))
    start_scaler("--downscale-stabilization=0s")
    workspace.reaches(2)
    path = f"/apis/{LA}/namespaces/{namespace}/loadautoscalers/web"
    with labelled_continuously(cluster, path):
        metrics_api.values[f"{namespace}/queue"] = "0"
        workspace.reaches(0)
    metrics_api.values[f"{namespace}/queue"] = "30"
    workspace.reaches(3)


class KilledScaler:
    """A scaler that is killed and started again."""

    def __init__(self, start: Callable[[], LoadlineProcess]) -> None:
        self._start = start
        self._running = start()

    def kill(self) -> None:
        self._running.kill()

    def start(self) -> None:
        self._running = self._start()

    def killed_at(self, moments: Sequence[float]) -> Callable[[], None]:
        """Call the result often: it kills and restarts the scaler at these moments (monotonic seconds)."""
        remaining = sorted(moments)

        def poll() -> None:
            if remaining and time.monotonic() >= remaining[0]:
                del remaining[0]
                self.kill()
                self.start()

        return poll


def replicas_of(writes: Sequence[ScaleWrite]) -> list[int]:
    return [write.replicas for write in writes]


def budget_exceeded(
    writes: Sequence[ScaleWrite], *, first: int, per_period: int, period_seconds: float
) -> list[str]:
    """Changes of more than `per_period` replicas within a period. Event times are stored in whole seconds."""
    before = [first, *replicas_of(writes)]
    changes = [
        (w.at_unix_seconds, abs(w.replicas - b)) for w, b in zip(writes, before, strict=False)
    ]
    return [
        f"{total} replicas within {period_seconds:g} s from {start}"
        for start, _ in changes
        if (
            total := sum(
                n
                for at, n in changes
                if start <= at < start + period_seconds - 1 - SYNC_PERIOD_SECONDS
            )
        )
        > per_period
    ]


def within_budgets(
    up: Sequence[ScaleWrite], down: Sequence[ScaleWrite], period_seconds: float
) -> None:
    assert not budget_exceeded(up, first=1, per_period=2, period_seconds=period_seconds)
    assert not budget_exceeded(down, first=8, per_period=3, period_seconds=period_seconds)


@pytest.mark.parametrize(
    ("api_version", "flags"),
    [
        pytest.param(LA, (), id="LoadAutoscaler"),
        pytest.param(HPA, ("--watch=horizontalpodautoscalers",), id="HPA"),
    ],
)
def test_a_killed_scaler_takes_the_same_steps_as_an_undisturbed_one(
    cluster, metrics_api, namespace, start_scaler, audit_log, api_version, flags
):
    """Windows and periods grow with the number of kills: at 20 kills, the window is 24 s for 10 minutes."""
    period_seconds, window_seconds = max(3, KILLS * 4 // 5), max(6, KILLS * 6 // 5)
    behavior = {
        "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": period_seconds}]},
        "scaleDown": {
            "stabilizationWindowSeconds": window_seconds,
            "policies": [{"type": "Pods", "value": 3, "periodSeconds": period_seconds}],
        },
    }
    undisturbed, disturbed = f"{namespace}-undisturbed", namespace
    cluster.create_namespace(undisturbed)

    def set_queue(value: str) -> None:
        for each in (undisturbed, disturbed):
            metrics_api.values[f"{each}/queue"] = value

    set_queue("80")
    start_scaler(*flags, f"--namespace={undisturbed}")
    killed = KilledScaler(lambda: start_scaler(*flags, f"--namespace={disturbed}"))
    for each in (undisturbed, disturbed):
        cluster.apply(
            workload("Deployment", each, 1),
            queue_autoscaler(each, behavior=behavior, api_version=api_version),
        )
    deadline_seconds, generator = 60.0 + 8 * period_seconds, random.Random(KILLS)
    now, duration_seconds = time.monotonic(), 3 * period_seconds + window_seconds
    poll = killed.killed_at(
        [now + generator.uniform(0, duration_seconds) for _ in range(KILLS // 2)]
    )

    def both_reach(replicas: int) -> bool:
        poll()
        for each in (undisturbed, disturbed):
            assert Workspace(cluster, each).replicas() == replicas
        return True

    until(lambda: both_reach(8), what="8 replicas", deadline_seconds=deadline_seconds)
    steady_until = time.monotonic() + window_seconds + 1

    def steady() -> bool:
        poll()
        return time.monotonic() >= steady_until

    until(steady, what="a steady window", deadline_seconds=deadline_seconds)
    # The first value after this restart is low, and the last status update may be older than the window.
    killed.kill()
    killed_at_unix_seconds = time.time()
    set_queue("10")
    killed.start()
    now = time.monotonic()
    poll = killed.killed_at(
        [now + generator.uniform(0, duration_seconds) for _ in range(KILLS // 2)]
    )
    until(lambda: both_reach(1), what="1 replica", deadline_seconds=deadline_seconds)

    audit_log.has_scales(undisturbed, [3, 5, 7, 8, 5, 2, 1])
    writes = audit_log.has_scales(disturbed, [3, 5, 7, 8, 5, 2, 1])
    first_down = next(
        write
        for write in writes
        if write.replicas < 8 and write.at_unix_seconds > killed_at_unix_seconds
    )
    held_seconds = first_down.at_unix_seconds - killed_at_unix_seconds
    assert held_seconds >= window_seconds - 2 * SYNC_PERIOD_SECONDS
    within_budgets(writes[:4], writes[4:], period_seconds)


def test_two_scalers_under_kills_never_write_twice_nor_at_the_same_time(
    cluster, metrics_api, namespace, start_scaler: StartScaler, audit_log
):
    """Each scaler has a user of its own, so the audit log shows who has written."""
    users = (f"scaler-{number}" for number in itertools.count())
    running: dict[str, LoadlineProcess] = {}

    def start_one() -> None:
        user = next(users)
        running[user] = start_scaler(
            *LEADER_ELECTION,
            f"--leader-elect-resource-namespace={namespace}",
            f"--namespace={namespace}",
            "--downscale-stabilization=0s",
            kubeconfig=cluster.kubeconfig_for(user, ["system:masters"]),
        )

    generator = random.Random(KILLS)
    workspace = Workspace(cluster, namespace)
    metrics_api.values[f"{namespace}/queue"] = "20"
    cluster.apply(workload("Deployment", namespace, 1), queue_autoscaler(namespace))
    start_one()
    workspace.reaches(2)
    start_one()
    expected = [2]

    def scale() -> None:
        expected.append(expected[-1] % 8 + 1)
        metrics_api.values[f"{namespace}/queue"] = str(10 * expected[-1])

    for _ in range(max(3, KILLS // 2)):
        scale()
        leader = audit_log.has_scales(namespace, expected)[-1].user
        scale()
        kill_at = time.monotonic() + generator.uniform(0, 2 * SYNC_PERIOD_SECONDS)
        until(
            lambda at=kill_at: time.monotonic() >= at,
            what="the moment of the kill",
            every_seconds=0.01,
        )
        running.pop(leader).kill()
        start_one()
        workspace.reaches(expected[-1])
    writes = audit_log.has_scales(namespace, expected)
    terms = [user for user, _ in itertools.groupby(write.user for write in writes)]
    assert len(terms) == len(set(terms)), "a scaler wrote again after another one had"
