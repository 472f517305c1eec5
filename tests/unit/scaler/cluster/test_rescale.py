"""The write of the Scale is retried on conflict and only then."""

import msgspec
import pytest

from scaler.algorithm.decision import PodPatch, Rescaled, RescaleFailed
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import ScaleView
from scaler.algorithm.readings import ExternalValues
from scaler.cluster.rescale import (
    AGE_SECONDS_MIN,
    checked_age,
    may_write_copy,
    rescale,
    rescale_unchanged,
)
from scaler.cluster.target_scale import TargetScale
from tests.fakes.scaler import FakeKube
from tests.unit.scaler.objects import decided, observed, spec
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


async def test_a_scale_is_written_in_the_version_in_which_it_was_read():
    """openshift-apiserver serves the scales of DeploymentConfigs in extensions/v1beta1, and refuses another version."""
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8", "uid": "u1"}, "spec": {"replicas": 9}})
    kube.put_answers = [conflict("modified")]
    read = msgspec.structs.replace(READ, api_version="extensions/v1beta1")
    assert await rescale(kube, read, 3, sleep=no_sleep) == Rescaled()
    assert [body["apiVersion"] for _, body in kube.put] == ["extensions/v1beta1"] * 2


@pytest.mark.deviation("conflict-overwrites")
async def test_after_a_conflict_the_same_number_is_written_with_the_newer_version():
    kube = FakeKube()
    kube.serve(PATH, {"metadata": {"resourceVersion": "8", "uid": "u1"}, "spec": {"replicas": 9}})
    kube.put_answers = [conflict("modified")]
    assert await rescale_to_3(kube) == Rescaled()
    versions = [body["metadata"]["resourceVersion"] for _, body in kube.put]
    assert versions == ["7", "8"]
    assert [body["spec"]["replicas"] for _, body in kube.put] == [3, 3]


@pytest.mark.parametrize(
    ("chance", "seconds"),
    [
        pytest.param(0.0, 0.01, id="at least 10 ms"),
        pytest.param(0.5, 0.0105, id="longer by up to a tenth"),
    ],
)
async def test_attempts_are_as_far_apart_as_those_of_client_go(chance, seconds):
    pauses = []

    async def sleep(pause_seconds):
        pauses.append(pause_seconds)

    kube = FakeKube()
    kube.put_answers = [conflict("modified")] * 2
    await rescale(kube, READ, 3, sleep=sleep, chance=lambda: chance)
    assert pauses == pytest.approx([seconds] * 2)


@pytest.mark.parametrize(
    ("period_seconds", "oldest_seconds"),
    [
        pytest.param(15.0, 15.0, id="a period"),
        pytest.param(5.0, AGE_SECONDS_MIN, id="a short period"),
    ],
)
def test_metrics_may_be_as_old_as_a_period_and_no_older(period_seconds, oldest_seconds):
    now = [100.0 + oldest_seconds]
    check = checked_age(100.0, period_seconds, lambda: now[0])
    check()
    now[0] += 0.001
    with pytest.raises(NotSent):
        check()


PATCH = PodPatch(
    pod_name="web-0", resource_version="1", annotations={}, failed_reason="FailedPodDeletionCost"
)


@pytest.mark.parametrize(
    ("desired_replicas", "annotations", "may_write"),
    [
        pytest.param(3, (), True, id="a count"),
        pytest.param(3, (PATCH,), False, id="pods are annotated first"),
        pytest.param(0, (), False, id="zero is stored as an intention first"),
        pytest.param(None, (), False, id="no count"),
    ],
)
def test_a_copy_is_the_basis_of_a_write_only_if_nothing_else_is_written_first(
    desired_replicas, annotations, may_write
):
    seen = observed(spec(), replicas=1)
    decision = msgspec.structs.replace(
        decided(seen, [ExternalValues((10_000,))], memory=Memory()),
        desired_replicas=desired_replicas,
        pod_annotations=annotations,
    )
    assert may_write_copy(decision) is may_write


@pytest.mark.parametrize(
    "newest",
    [
        pytest.param({"metadata": {}}, id="without a version"),
        pytest.param({"kind": "Status", "metadata": {"resourceVersion": "8"}}, id="another kind"),
        pytest.param({"kind": ""}, id="other JSON"),
    ],
)
async def test_after_a_conflict_a_scale_is_written_only_with_the_version_of_a_scale(newest):
    """Without one, it would be written whatever another client has written, perhaps to another target of that name."""
    kube = FakeKube()
    kube.serve(PATH, newest)
    kube.put_answers = [conflict("modified")] * 9
    assert await rescale_to_3(kube) == RescaleFailed("modified", may_be_applied=True)
    sent = {(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for _, each in kube.put}
    assert sent == {("u1", "7")}


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
        pytest.param(failure(500, "broken"), True, id="an error of the API server"),
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
        pytest.param(failure(404, "no such target"), None, id="the target is gone"),
        pytest.param(
            forbidden("you may not"),
            RescaleFailed("you may not", may_be_applied=False),
            id="forbidden",
        ),
        pytest.param(
            failure(429, "busy"),
            RescaleFailed("busy", may_be_applied=False),
            id="too many requests",
        ),
        pytest.param(
            failure(500, "broken"),
            RescaleFailed("broken", may_be_applied=True),
            id="an error of the API server",
        ),
        pytest.param(NotSent("old"), RescaleFailed("old", may_be_applied=False), id="not sent"),
        pytest.param(
            Unavailable("lost"), RescaleFailed("lost", may_be_applied=True), id="no answer"
        ),
    ],
)
async def test_only_a_write_that_a_change_of_the_target_refused_is_decided_again(error, expected):
    kube = FakeKube()
    kube.put_answers = [error]
    assert await rescale_unchanged(kube, READ, 3) == expected
