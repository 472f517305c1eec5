"""Which autoscalers the page shows: those that the user may list."""

import pytest

from kubectl_loadline.page.autoscalers import watched
from tests.fakes.scaler import FakeKube
from wire.api.status import StatusError, Unavailable, forbidden

LAS = "/apis/loadline.io/v1beta1/{}loadautoscalers"
HPAS = "/apis/autoscaling/v2/{}horizontalpodautoscalers"
SHOP = "namespaces/shop/"
REFUSED = forbidden("cannot list it")


def kube(**answers):
    """`las`, `hpas` of the cluster, and `shop_las`, `shop_hpas`: True where the user may list; None: not installed."""
    fake = FakeKube()
    for name, kind in (("las", LAS), ("hpas", HPAS)):
        for prefix, inside in (("", ""), ("shop_", SHOP)):
            may = answers.get(prefix + name, False)
            if may:
                fake.serve(kind.format(inside), {"items": []})
            elif may is not None:
                fake.answers[kind.format(inside)] = REFUSED
    return fake


async def test_of_the_whole_cluster_if_that_is_allowed():
    found = await watched(kube(las=True, hpas=True), "shop")
    assert (found.namespace, found.problem) == ("", None)


async def test_else_of_one_namespace():
    found = await watched(kube(shop_las=True, shop_hpas=True), "shop")
    assert (found.namespace, found.problem) == ("shop", None)


async def test_a_kind_that_is_refused_is_named_and_does_not_limit_the_other():
    found = await watched(kube(hpas=True), "shop")
    assert (found.namespace, found.problem) == ("", "cannot list it")


async def test_a_kind_that_the_cluster_does_not_have_is_left_out_without_a_note():
    found = await watched(kube(las=None, shop_las=None, hpas=True), "shop")
    assert found.problem is None


async def test_without_any_right_the_refusal_is_raised():
    with pytest.raises(StatusError, match="cannot list it"):
        await watched(kube(), "shop")


async def test_an_api_server_that_is_down_is_reported():
    fake = kube(hpas=True)
    fake.answers[LAS.format("")] = Unavailable("no response")
    with pytest.raises(Unavailable):
        await watched(fake, "shop")
