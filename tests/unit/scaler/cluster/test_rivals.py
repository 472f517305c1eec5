"""Which other autoscalers name the same target."""

import msgspec
import pytest

from scaler.api.autoscaler import Autoscaler, AutoscalerSpec, CrossVersionObjectReference
from scaler.cluster.rivals import Rivals
from wire.api.meta import ObjectMeta

HPA, LA = "HorizontalPodAutoscaler", "LoadAutoscaler"


def autoscaler(
    name: str, *, target: str = "web", api_version: str = "apps/v1", namespace: str = "shop"
) -> Autoscaler:
    ref = CrossVersionObjectReference(api_version=api_version, kind="Deployment", name=target)
    return Autoscaler(
        metadata=ObjectMeta(namespace=namespace, name=name),
        spec=AutoscalerSpec(scale_target_ref=ref, max_replicas=5),
    )


@pytest.mark.parametrize(
    ("other", "is_rival"),
    [
        pytest.param(autoscaler("x"), True, id="same target"),
        pytest.param(autoscaler("x", api_version="apps/v1beta1"), True, id="another version"),
        pytest.param(autoscaler("x", target="db"), False, id="another target"),
        pytest.param(autoscaler("x", api_version="example.com/v1"), False, id="another group"),
        pytest.param(autoscaler("x", namespace="other"), False, id="another namespace"),
    ],
)
def test_an_hpa_is_a_rival_when_it_names_the_same_target(other, is_rival):
    rivals = Rivals()
    rivals.follow(HPA)(None, other)
    found = rivals.of(autoscaler("web"), LA)
    assert found == ((f"{HPA} shop/x",) if is_rival else ())


def test_autoscalers_of_both_kinds_are_rivals_but_an_autoscaler_is_not_its_own():
    rivals = Rivals()
    rivals.follow(LA)(None, autoscaler("web"))
    assert rivals.of(autoscaler("web"), LA) == ()
    rivals.follow(LA)(None, autoscaler("twin"))
    rivals.follow(HPA)(None, autoscaler("web"))
    assert rivals.of(autoscaler("web"), LA) == (f"{HPA} shop/web", f"{LA} shop/twin")
    assert rivals.of(autoscaler("twin"), LA) == (f"{HPA} shop/web", f"{LA} shop/web")


def test_an_hpa_that_now_names_another_target_is_no_longer_a_rival():
    rivals = Rivals()
    change = rivals.follow(HPA)
    change(None, autoscaler("x"))
    change(autoscaler("x"), autoscaler("x", target="db"))
    assert rivals.of(autoscaler("web"), LA) == ()
    change(autoscaler("x", target="db"), None)
    assert rivals._autoscalers == {}


def test_an_autoscaler_in_a_dry_run_is_not_a_rival():
    dry = autoscaler("x")
    dry = msgspec.structs.replace(dry, spec=msgspec.structs.replace(dry.spec, mode="DryRun"))
    rivals = Rivals()
    change = rivals.follow(LA)
    change(None, dry)
    assert rivals.of(autoscaler("web"), LA) == ()
    change(dry, autoscaler("x"))
    assert rivals.of(autoscaler("web"), LA) == (f"{LA} shop/x",)
    change(autoscaler("x"), dry)
    assert rivals.of(autoscaler("web"), LA) == ()


def test_of_many_rivals_the_first_are_named():
    """Otherwise a user could fill etcd with the statuses of a few thousand autoscalers."""
    rivals = Rivals()
    for number in range(5):
        rivals.follow(LA)(None, autoscaler(f"x{number}"))
    first = tuple(f"{LA} shop/x{number}" for number in range(3))
    assert rivals.of(autoscaler("web"), LA) == (*first, "others")
    assert rivals.of(autoscaler("x0"), LA) == (
        *(f"{LA} shop/x{number}" for number in (1, 2, 3)),
        "others",
    )
    rivals.follow(LA)(autoscaler("x4"), None)
    assert rivals.of(autoscaler("x3"), LA) == first
