"""The write of the Scale: retried on conflict, and only then."""

import pytest

from scaler.actuate.scale import rescale
from scaler.model.decision import Rescaled, RescaleFailed
from scaler.model.observed import ScaleView
from scaler.ports import TargetScale
from tests.fakes.scaler import FakeKube
from wire.status import Unavailable, conflict, failure, forbidden

PATH = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
READ = TargetScale(path=PATH, uid="u1", view=ScaleView(spec_replicas=1, resource_version="7"))


async def no_sleep(_: float) -> None:
    return


async def rescaled(kube: FakeKube) -> object:
    return await rescale(kube, READ, 3, sleep=no_sleep)


async def test_the_scale_is_written_at_the_version_that_was_read():
    kube = FakeKube()
    assert await rescaled(kube) == Rescaled()
    metadata = {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}
    written = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    assert kube.put == [(PATH, {**written, "spec": {"replicas": 3}})]


async def test_after_a_conflict_the_same_number_is_written_over_the_newer_version():
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8", "uid": "u1"}, "spec": {"replicas": 9}})
    kube.put_answers = [conflict("modified")]
    assert await rescaled(kube) == Rescaled()
    versions = [body["metadata"]["resourceVersion"] for _, body in kube.put]
    assert versions == ["7", "8"]
    assert [body["spec"]["replicas"] for _, body in kube.put] == [3, 3]


async def test_the_fifth_conflict_is_the_last():
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8"}})
    kube.put_answers = [conflict("the object has been modified")] * 9
    assert await rescaled(kube) == RescaleFailed("the object has been modified")
    assert len(kube.put) == 5


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(forbidden("you may not"), "you may not", id="forbidden"),
        pytest.param(failure(422, "replicas: bad"), "replicas: bad", id="invalid"),
        pytest.param(Unavailable("connection refused"), "connection refused", id="nobody there"),
    ],
)
async def test_any_other_failure_is_told_and_not_tried_again(error, message):
    kube = FakeKube()
    kube.put_answers = [error]
    assert await rescaled(kube) == RescaleFailed(message)
    assert len(kube.put) == 1


async def test_a_conflict_whose_newer_version_cannot_be_read_is_tried_again_as_it_was():
    kube = FakeKube()
    kube.put_answers = [conflict("modified")]
    assert await rescaled(kube) == Rescaled()
    assert kube.put[0] == kube.put[1]
