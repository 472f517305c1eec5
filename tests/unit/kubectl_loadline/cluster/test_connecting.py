"""Which object a name means, by what the user may read."""

import pytest

from kubectl_loadline.cluster.autoscaler_name import autoscaler_name
from kubectl_loadline.cluster.connecting import Session, existing
from tests.fakes.scaler import FakeKube
from wire.api.status import StatusError, forbidden

LA = "/apis/loadline.io/v1beta1/namespaces/shop/loadautoscalers/web"
HPA = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web"


def session(**answers):
    kube = FakeKube()
    for path, name in ((LA, "la"), (HPA, "hpa")):
        if name in answers:
            kube.answers[path] = answers[name]
    return Session(connection=None, client=kube, namespace="shop")


async def meant(text="web", **answers):
    kind, namespace, body = await existing(session(**answers), autoscaler_name(text))
    return kind.kind, namespace, body


@pytest.mark.parametrize(
    ("text", "answers", "expected"),
    [
        ("web", {"la": b"1", "hpa": b"2"}, "LoadAutoscaler"),
        ("hpa/web", {"la": b"1", "hpa": b"2"}, "HorizontalPodAutoscaler"),
        ("web", {"hpa": b"2"}, "HorizontalPodAutoscaler"),
        ("web", {"la": forbidden("no"), "hpa": b"2"}, "HorizontalPodAutoscaler"),
    ],
)
async def test_the_first_kind_that_exists_is_meant(text, answers, expected):
    assert (await meant(text, **answers))[:2] == (expected, "shop")


async def test_what_does_not_exist_is_named_with_the_command_that_lists_them():
    with pytest.raises(StatusError, match="kubectl get la,hpa -n shop"):
        await meant()


async def test_a_right_that_is_missing_is_reported_before_an_object_that_is_missing():
    with pytest.raises(StatusError, match="cannot get loadautoscalers"):
        await meant(la=forbidden("cannot get loadautoscalers"))
