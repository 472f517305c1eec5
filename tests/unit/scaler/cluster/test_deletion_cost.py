"""The deletion cost is an annotation of each pod, and writing it may fail."""

import json

from scaler.algorithm.decision import PodCost
from scaler.cluster.pod_deletion_costs import write_deletion_costs
from tests.fakes import virtual_time
from tests.fakes.scaler import FakeKube
from wire.api.status import Unavailable, forbidden, not_found

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
COSTS = (PodCost(pod_name="web-1", cost="-1"), PodCost(pod_name="web-2", cost=None))


async def test_each_pod_is_patched():
    kube = FakeKube()
    assert await write_deletion_costs(kube, "shop", COSTS) == ""
    assert kube.patched == [
        ("/api/v1/namespaces/shop/pods/web-1", annotated("-1")),
        ("/api/v1/namespaces/shop/pods/web-2", annotated(None)),
    ]


async def test_a_missing_permission_is_reported_once():
    kube = FakeKube()
    denied = forbidden('pods "web-1" is forbidden: cannot patch resource "pods"')
    kube.patch_answers = [denied, denied]
    assert await write_deletion_costs(kube, "shop", COSTS) == denied.message
    assert len(kube.patched) == 2, "the others are still tried"


async def test_a_pod_that_is_gone_is_not_a_problem():
    kube = FakeKube()
    kube.patch_answers = [not_found("gone"), b"{}"]
    assert await write_deletion_costs(kube, "shop", COSTS) == ""


async def test_an_api_server_that_is_down_is():
    kube = FakeKube()
    kube.patch_answers = [Unavailable("connection refused"), b"{}"]
    assert await write_deletion_costs(kube, "shop", COSTS) == "connection refused"


def test_a_scale_down_does_not_wait_for_long():
    class Hangs(FakeKube):
        async def patch(self, path: str, body: bytes, **_: object) -> bytes:
            await virtual_time.passes(1e6)
            return b"{}"

    async def scenario() -> None:
        problem = await write_deletion_costs(Hangs(), "shop", COSTS)
        assert problem == "not all pods were marked within 5 s"

    virtual_time.run(scenario())


def annotated(cost: str | None) -> object:
    return json.loads(json.dumps({"metadata": {"annotations": {DELETION_COST: cost}}}))
