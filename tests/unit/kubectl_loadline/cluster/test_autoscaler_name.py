"""An autoscaler is named as for kubectl."""

import pytest

from kubectl_loadline.cluster.autoscaler_name import KINDS, AutoscalerName, autoscaler_name
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS

HPA, LA = (HORIZONTAL_POD_AUTOSCALERS,), (LOAD_AUTOSCALERS,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("web", AutoscalerName(name="web")),
        ("la/web", AutoscalerName(name="web", kinds=LA)),
        ("hpa/web", AutoscalerName(name="web", kinds=HPA)),
        ("loadautoscalers.loadline.io/web", AutoscalerName(name="web", kinds=LA)),
        ("LoadAutoscaler/web", AutoscalerName(name="web", kinds=LA)),
        ("hpa.v2.autoscaling/web", AutoscalerName(name="web", kinds=HPA)),
        ("horizontalpodautoscaler/web", AutoscalerName(name="web", kinds=HPA)),
        ("shop/web", AutoscalerName(name="web", namespace="shop")),
        ("hpa/shop/web", AutoscalerName(name="web", namespace="shop", kinds=HPA)),
        ("la/hpa/web", AutoscalerName(name="web", namespace="hpa", kinds=LA)),
        ("hpa.apps/web", AutoscalerName(name="web", namespace="hpa.apps")),
    ],
)
def test_a_target_has_a_kind_and_a_namespace_or_not(text, expected):
    assert autoscaler_name(text) == expected


def test_without_a_kind_a_loadautoscaler_comes_first():
    assert autoscaler_name("web").kinds == KINDS == (*LA, *HPA)


def test_the_namespace_of_the_flag_counts_unless_the_target_names_one():
    assert autoscaler_name("web", namespace="shop").namespace == "shop"
    assert autoscaler_name("shop/web", namespace="shop").namespace == "shop"


@pytest.mark.parametrize("text", ["", "/", "la/", "/web", "la//web", "a/b/c", "la/a/b/c"])
def test_what_names_no_autoscaler_is_refused_with_the_forms(text):
    with pytest.raises(ValueError, match="NAME, la/NAME or hpa/NAME"):
        autoscaler_name(text)


@pytest.mark.parametrize(
    "text", ["deployment/web", "deploy/web", "StatefulSet/web", "deployments.apps/web", "pod/web-0"]
)
def test_a_workload_is_not_taken_for_a_namespace(text):
    with pytest.raises(
        ValueError, match=f"'{text}' is a workload: write the name of its autoscaler"
    ):
        autoscaler_name(text)
    assert autoscaler_name(f"la/{text}").kinds == LA


def test_two_namespaces_are_refused():
    with pytest.raises(ValueError, match="remove one of them"):
        autoscaler_name("shop/web", namespace="billing")
