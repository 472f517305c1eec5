"""Annotations of pods are written before a scale-down, and writing them may fail."""

import asyncio

import msgspec

from scaler.algorithm.decision import PodPatch, warning
from scaler.cluster.pod_annotations import REQUESTS_MAX, write_pod_annotations
from tests.fakes import virtual_time
from tests.fakes.scaler import FakeKube
from wire.api.status import Unavailable, conflict, forbidden, not_found

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
COSTS = tuple(
    PodPatch(
        pod_name=name,
        resource_version=version,
        annotations={DELETION_COST: cost},
        failed_reason="FailedCost",
    )
    for name, version, cost in (("web-1", "11", "-1"), ("web-2", "12", None))
)


async def test_each_pod_is_patched():
    kube = FakeKube()
    assert await write_pod_annotations(kube, "shop", COSTS) is None
    assert kube.patched == [
        ("/api/v1/namespaces/shop/pods/web-1", annotated("-1", "11")),
        ("/api/v1/namespaces/shop/pods/web-2", annotated(None, "12")),
    ]


async def test_a_pod_that_was_changed_meanwhile_is_left_alone_and_reported():
    """By a user who has just set another cost, for example."""
    kube = FakeKube()
    changed = conflict(
        'Operation cannot be fulfilled on pods "web-1": the object has been modified'
    )
    kube.patch_answers = [changed, b"{}"]
    assert await write_pod_annotations(kube, "shop", COSTS) == warning(
        "FailedCost", changed.message
    )
    assert len(kube.patched) == 2


async def test_a_missing_permission_is_reported_once():
    kube = FakeKube()
    denied = forbidden('pods "web-1" is forbidden: cannot patch resource "pods"')
    kube.patch_answers = [denied, denied]
    assert await write_pod_annotations(kube, "shop", COSTS) == warning("FailedCost", denied.message)
    assert len(kube.patched) == 2, "the others are still tried"


async def test_a_pod_that_is_gone_is_not_a_problem():
    kube = FakeKube()
    kube.patch_answers = [not_found("gone"), b"{}"]
    assert await write_pod_annotations(kube, "shop", COSTS) is None


async def test_an_api_server_that_is_down_is():
    kube = FakeKube()
    kube.patch_answers = [Unavailable("connection refused"), b"{}"]
    assert await write_pod_annotations(kube, "shop", COSTS) == warning(
        "FailedCost", "connection refused"
    )


def test_a_scale_down_does_not_wait_for_long():
    class Hangs(FakeKube):
        async def patch(self, path: str, body: bytes, **_: object) -> bytes:
            await virtual_time.passes(1e6)
            return b"{}"

    async def scenario() -> None:
        found = await write_pod_annotations(Hangs(), "shop", COSTS)
        assert found == warning("FailedCost", "not all pods were marked within 5 s")

    virtual_time.run(scenario())


async def test_of_many_pods_only_some_are_patched_at_a_time_and_the_first_problem_is_reported():
    """Each takes a task: tens of thousands of them would occupy the event loop for seconds when they are cancelled."""
    tasks = 0

    class Counts(FakeKube):
        async def patch(self, path: str, body: bytes, **_: object) -> bytes:
            nonlocal tasks
            await asyncio.sleep(0)
            tasks = max(tasks, len(asyncio.all_tasks()))
            self.patched.append((path, body))
            if path.endswith(("-70", "-900")):
                raise Unavailable(f"{path} is refused")
            return b"{}"

    kube = Counts()
    pods = [msgspec.structs.replace(COSTS[0], pod_name=f"web-{number}") for number in range(1_000)]
    found = await write_pod_annotations(kube, "shop", pods)
    assert found == warning("FailedCost", "/api/v1/namespaces/shop/pods/web-70 is refused")
    assert len(kube.patched) == 1_000
    assert tasks <= REQUESTS_MAX + 2


async def test_without_a_pod_nothing_is_patched():
    assert await write_pod_annotations(FakeKube(), "shop", ()) is None


def annotated(cost: str | None, version: str) -> object:
    return {"metadata": {"resourceVersion": version, "annotations": {DELETION_COST: cost}}}
