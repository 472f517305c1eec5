"""Whose metrics are followed: a changed one brings the next reconcile forward, and a stream sends it."""

import pytest

from tests.unit.scaler.control.world import KEY, SCALE_PATH, World

REQUEST = "a request"


def world():
    made = World(copies=True)
    made.measurements.requests = (REQUEST,)
    return made


def is_followed(of):
    return KEY in of.reconciler._with.followers.of(REQUEST)


def without_scale(of):
    of.scaled(3)
    of.kube.answers.pop(SCALE_PATH)


def shared(of):
    of.reconciler._with.rivals.of = lambda *_: ("HorizontalPodAutoscaler shop/other",)


UNREAD = {
    "a zero of a user": lambda of: of.scaled(0),
    "no scale": without_scale,
    "a target of another autoscaler": shared,
    "no selector": lambda of: of.scaled(3, selector=""),
    "a dry run outside the bounds": lambda of: of.edit(mode="DryRun", minReplicas=5),
}


@pytest.mark.parametrize("happens", [pytest.param(each, id=name) for name, each in UNREAD.items()])
async def test_metrics_that_are_not_read_are_not_followed(happens):
    """Otherwise each changed value would cause a reconcile, as long as that lasts."""
    of = world()
    for _ in range(4):
        await of.sync(30)
    assert is_followed(of)
    happens(of)
    await of.sync(30)
    assert not is_followed(of)


async def test_metrics_are_followed_again_as_soon_as_they_are_read():
    of = world()
    await of.sync(30)
    of.scaled(0)
    for _ in range(3):
        await of.sync(30)
    of.scaled(2)
    of.measurements.while_read = lambda: followed.append(is_followed(of))
    followed = []
    await of.sync(30)
    assert followed == [True], "before the request, whose response is kept only then"


async def test_metrics_are_followed_while_a_bound_changes_the_count():
    """They are read next time."""
    of = world()
    await of.sync(30)
    of.edit(minReplicas=5)
    await of.sync(30)
    assert of.replicas == 5
    assert is_followed(of)
