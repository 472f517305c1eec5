"""Leases and events as a real API server keeps them."""

import asyncio
import contextlib

import pytest

from scaler.cluster.events.recorder import EventRecorder
from scaler.cluster.leader_election import LeaderElection
from scaler.cluster.lease import LeaseTimes
from tests.process.wire.conftest import until
from wire.api.meta import ObjectReference
from wire.kube.client import KubeClient
from wire.kube.connection import connect

QUICK = LeaseTimes(lease_seconds=3, renew_deadline_seconds=2, retry_seconds=0.2)


async def ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_of_two_candidates_one_leads_and_hands_over(control_plane, client, folder):
    working: list[str] = []

    def candidate(identity: str) -> asyncio.Task[None]:
        async def work() -> None:
            working.append(identity)
            try:
                await asyncio.Event().wait()
            finally:
                working.remove(identity)

        election = LeaderElection(
            client, namespace=folder, name="l", identity=identity, times=QUICK
        )
        return asyncio.create_task(election.run(work))

    first = candidate("a")
    await until(lambda: working == ["a"], what="a leads")
    second = candidate("b")
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{folder}/leases/l"
    before = control_plane.get(lease)["spec"]["renewTime"]
    await until(lambda: control_plane.get(lease)["spec"]["renewTime"] != before, what="a renews")
    assert working == ["a"]
    await ended(first)
    await until(lambda: working == ["b"], what="b leads", deadline_seconds=2.5)
    assert control_plane.get(lease)["spec"]["leaseTransitions"] == 1
    await ended(second)
    assert control_plane.get(lease)["spec"]["holderIdentity"] == ""


@pytest.fixture
def about(control_plane, folder):
    control_plane.kubectl("create", "configmap", "web", "-n", folder)
    uid = control_plane.get(f"/api/v1/namespaces/{folder}/configmaps/web")["metadata"]["uid"]
    return ObjectReference(
        api_version="v1", kind="ConfigMap", namespace=folder, name="web", uid=uid
    )


async def test_similar_events_become_one_and_equal_ones_a_count(
    control_plane, folder, client, about
):
    recorder = EventRecorder(client, component="wire-test")
    writing = asyncio.create_task(recorder.run())
    for number in range(12):
        recorder.event(about, "Normal", "Scaled", f"New size: {number}")
    for _ in range(3):
        recorder.event(about, "Warning", "Failed", "no metrics")
    await asyncio.wait_for(recorder.flushed(), timeout=20)
    await ended(writing)
    items = control_plane.get(f"/api/v1/namespaces/{folder}/events")["items"]
    written = sorted((item["message"], item["count"]) for item in items)
    assert written == sorted(
        [(f"New size: {number}", 1) for number in range(9)]
        + [("(combined from similar events): New size: 11", 3), ("no metrics", 3)]
    )
    assert {item["reportingComponent"] for item in items} == {"wire-test"}
    assert "no metrics" in control_plane.kubectl("describe", "configmap", "web", "-n", folder)


async def test_without_the_right_events_are_refused_and_nothing_else_fails(
    control_plane, folder, about, caplog
):
    unprivileged = KubeClient(
        await connect(control_plane.kubeconfig_for("unprivileged"), user_agent="test/1")
    )
    recorder = EventRecorder(unprivileged, component="wire-test")
    writing = asyncio.create_task(recorder.run())
    recorder.event(about, "Normal", "Scaled", "m")
    await asyncio.wait_for(recorder.flushed(), timeout=20)
    await ended(writing)
    await unprivileged.close()
    assert 'User "unprivileged" cannot create resource "events"' in caplog.text
