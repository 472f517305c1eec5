"""The write of the Scale is retried on conflict and only then."""

import pytest

from scaler.algorithm.decision import Rescaled, RescaleFailed
from scaler.algorithm.observed import ScaleView
from scaler.cluster.rescale import rescale, rescale_unchanged
from scaler.cluster.target_scale import TargetScale
from tests.fakes.scaler import FakeKube
from wire.api.status import NotSent, Unavailable, conflict, failure, forbidden

PATH = "/apis/apps/v1/namespaces/shop/deployments/web/scale"
READ = TargetScale(path=PATH, uid="u1", view=ScaleView(spec_replicas=1, resource_version="7"))


async def no_sleep(_: float) -> None:
    return


async def rescale_to_3(kube: FakeKube) -> object:
    return await rescale(kube, READ, 3, sleep=no_sleep)


async def test_the_scale_is_written_with_the_resource_version_that_was_read():
    kube = FakeKube()
    assert await rescale_to_3(kube) == Rescaled()
    metadata = {"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7"}
    written = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    assert kube.put == [(PATH, {**written, "spec": {"replicas": 3}})]


async def test_after_a_conflict_the_same_number_is_written_with_the_newer_version():
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8", "uid": "u1"}, "spec": {"replicas": 9}})
    kube.put_answers = [conflict("modified")]
    assert await rescale_to_3(kube) == Rescaled()
    versions = [body["metadata"]["resourceVersion"] for _, body in kube.put]
    assert versions == ["7", "8"]
    assert [body["spec"]["replicas"] for _, body in kube.put] == [3, 3]


async def test_after_the_fifth_conflict_it_gives_up():
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8"}})
    kube.put_answers = [conflict("the object has been modified")] * 9
    failed = RescaleFailed("the object has been modified", may_be_applied=True)
    assert await rescale_to_3(kube) == failed
    assert len(kube.put) == 5


async def test_a_write_that_is_forbidden_after_a_conflict_may_have_been_applied():
    """It conflicts with itself if the client sent it again, after the first response was lost."""
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8"}})
    kube.put_answers = [conflict("modified"), forbidden("you may not")]
    assert await rescale_to_3(kube) == RescaleFailed("you may not", may_be_applied=True)


@pytest.mark.parametrize(
    ("error", "may_be_applied"),
    [
        pytest.param(forbidden("you may not"), False, id="forbidden"),
        pytest.param(failure(422, "replicas: bad"), False, id="invalid"),
        pytest.param(failure(504, "too slow"), True, id="a timeout of the API server"),
        pytest.param(Unavailable("no answer within 10s"), True, id="no answer"),
        pytest.param(NotSent("connection refused"), False, id="not sent"),
    ],
)
async def test_any_other_failure_is_reported_and_not_retried(error, may_be_applied):
    """Without a definite answer, the scale may have been written."""
    kube = FakeKube()
    kube.put_answers = [error]
    failed = RescaleFailed(error.message, may_be_applied=may_be_applied)
    assert await rescale_to_3(kube) == failed
    assert len(kube.put) == 1


async def test_a_conflict_is_retried_unchanged_when_the_newer_version_cannot_be_read():
    kube = FakeKube()
    kube.put_answers = [conflict("modified")]
    assert await rescale_to_3(kube) == Rescaled()
    assert kube.put[0] == kube.put[1]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(conflict("modified"), None, id="a conflict"),
        pytest.param(forbidden("you may not"), None, id="forbidden"),
        pytest.param(NotSent("old"), RescaleFailed("old", may_be_applied=False), id="not sent"),
        pytest.param(
            Unavailable("lost"), RescaleFailed("lost", may_be_applied=True), id="no answer"
        ),
    ],
)
async def test_only_what_was_sent_to_an_unchanged_target_may_have_been_applied(error, expected):
    kube = FakeKube()
    kube.put_answers = [error]
    assert await rescale_unchanged(kube, READ, 3) == expected
