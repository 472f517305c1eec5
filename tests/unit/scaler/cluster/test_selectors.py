"""Which autoscalers control the pods of a selector."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.observed import Pod
from scaler.cluster.selectors import Selectors
from tests.unit.wire.api import test_labels
from wire.api.labels import NOTHING, Selector, parse
from wire.api.meta import ObjectMeta

WEB = Pod(
    metadata=ObjectMeta(name="web-1", namespace="shop", labels={"app": "web", "tier": "front"})
)
APP = parse("app=web")
MANY_VALUES = ",".join(f"y{number}" for number in range(200))
MANY_REQUIREMENTS = ",".join(f"app!=y{number}" for number in range(100))


def selectors(**stored: str) -> Selectors:
    found = Selectors()
    for name, text in stored.items():
        found.appear(f"shop/{name}")
        found.store(f"shop/{name}", parse(text))
    return found


@pytest.mark.deviation("ambiguous-names")
@pytest.mark.parametrize(
    ("stored", "controllers"),
    [
        pytest.param({"a": "app=web"}, ("shop/a",), id="one"),
        pytest.param({"b": "app=web", "a": "tier=front"}, ("shop/a", "shop/b"), id="two labels"),
        pytest.param({"a": "app=web", "b": "app=db"}, ("shop/a",), id="another's pods"),
        pytest.param({"a": "app=web", "b": "app"}, ("shop/a", "shop/b"), id="by presence"),
        pytest.param(
            {"b": "app", "a": "app=web"}, ("shop/a", "shop/b"), id="in the order of names"
        ),
        pytest.param({"a": "app=web", "b": "app!=db"}, ("shop/a", "shop/b"), id="by exclusion"),
        pytest.param({"a": "app=web,tier=back"}, (), id="not all of it"),
    ],
)
def test_every_autoscaler_whose_selector_matches_a_pod_controls_it(stored, controllers):
    assert selectors(**stored).controllers_of("shop", APP, (WEB,)) == controllers


def test_without_pods_there_is_no_conflict():
    assert selectors(a="app=web", b="app=web").controllers_of("shop", APP, ()) == ()


def test_selectors_of_other_namespaces_do_not_count():
    found = selectors(a="app=web")
    found.appear("other/b")
    found.store("other/b", parse("app=web"))
    assert found.controllers_of("shop", APP, (WEB,)) == ("shop/a",)


def test_an_autoscaler_selects_nothing_before_its_scale_is_read():
    found = selectors(a="app=web")
    found.appear("shop/b")
    assert found.controllers_of("shop", APP, (WEB,)) == ("shop/a",)


def test_a_deleted_autoscaler_no_longer_counts_even_if_a_late_reconcile_stores_its_selector():
    found = selectors(a="app=web", b="app=web")
    found.disappear("shop/b")
    found.store("shop/b", parse("app=web"))
    assert found.controllers_of("shop", APP, (WEB,)) == ("shop/a",)


def test_a_selector_that_changed_counts_as_it_is_now():
    found = selectors(a="app=web", b="app=web")
    found.store("shop/b", parse("app=db"))
    assert found.controllers_of("shop", APP, (WEB,)) == ("shop/a",)
    found.store("shop/b", parse("app=web"))
    assert found.controllers_of("shop", APP, (WEB,)) == ("shop/a", "shop/b")


def test_autoscalers_that_go_by_owners_do_not_control_pods_of_each_other():
    found = selectors(a="app=web", b="app=web", c="app=web")
    for name in "ab":
        found.store(f"shop/{name}", parse("app=web"), by_owner=True)
    assert found.controllers_of("shop", APP, (WEB,), owned_for="shop/a") == ("shop/a", "shop/c")
    assert found.controllers_of("shop", APP, (WEB,)) == ("shop/a", "shop/b", "shop/c")


def test_others_see_that_an_autoscaler_no_longer_goes_by_owners():
    found = selectors(a="app=web", b="app=web")
    found.store("shop/a", parse("app=web"), by_owner=True)
    found.store("shop/b", parse("app=web"), by_owner=True)
    version = found.version
    found.store("shop/b", parse("app=web"), by_owner=True)
    assert found.version == version
    found.store("shop/b", parse("app=web"))
    assert found.version > version
    assert found.controllers_of("shop", APP, (WEB,), owned_for="shop/a") == ("shop/a", "shop/b")


class CountedLabels(dict[str, str]):
    """They count how often they are read."""

    lookups = 0

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.lookups += 1
        return super().get(key, default)

    def __getitem__(self, key: str) -> str:
        self.lookups += 1
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.lookups += 1
        return super().__contains__(key)


def pods_of_a_stateful_set(count: int) -> tuple[Pod, ...]:
    """Each has labels of its own."""
    return tuple(
        Pod(
            metadata=ObjectMeta(
                name=f"web-{number}", labels=CountedLabels({"app": "web", "pod": f"{number}"})
            )
        )
        for number in range(count)
    )


@pytest.mark.parametrize("by_owner", [False, True])
def test_each_selector_is_not_matched_with_each_pod(by_owner):
    found, pods = Selectors(), pods_of_a_stateful_set(1_000)
    names = tuple(f"shop/a{number:03}" for number in range(1_000))
    for name in names:
        found.appear(name)
        found.store(name, APP, by_owner=by_owner)
    owned_for = names[0] if by_owner else ""
    controllers = found.controllers_of("shop", APP, pods, owned_for=owned_for)
    assert sum(each.metadata.labels.lookups for each in pods) <= 3 * len(pods)
    assert controllers == (names[:1] if by_owner else names)


@pytest.mark.parametrize(
    "other",
    [
        "app in (x{0},y{0})",
        f"app in (x{{0}},{MANY_VALUES})",
        f"pod in (999,x{{0}},{MANY_VALUES})",
        "app=web,tier=x{0}",
        "app=web,x{0}",
        "!app,!x{0}",
        "app notin (web,x{0})",
        "pod>{0}000",
        f"app=web,{MANY_REQUIREMENTS},x{{0}}",
    ],
)
def test_other_selectors_are_not_compared_with_each_pod(other):
    """A user who may create autoscalers decides how many there are, and what they require."""
    found, pods = selectors(a="app=web"), pods_of_a_stateful_set(1_000)
    for number in range(1, 200):
        found.appear(f"shop/b{number}")
        found.store(f"shop/b{number}", parse(other.format(number)))
    controllers = found.controllers_of("shop", APP, pods)
    assert sum(each.metadata.labels.lookups for each in pods[1:]) == 0
    assert len(controllers) == (200 if "999" in other else 1)


@given(
    st.lists(test_labels.selectors | st.just(NOTHING), max_size=6),
    st.lists(st.tuples(st.integers(0, 5), test_labels.selectors | st.none()), max_size=4),
    st.lists(test_labels.label_sets, max_size=6),
    st.integers(1, 3),
)
def test_they_are_those_whose_selectors_match_one_of_the_pods(stored, changes, labels, at_once):
    """However they have changed, and however many labels of pods are compared at once."""
    found, current = Selectors(labels_at_once=at_once), dict[str, Selector]()
    for number, selector in [*enumerate(stored), *changes]:
        key = f"shop/{number}"
        if selector is None:
            found.disappear(key)
            current.pop(key, None)
        else:
            found.appear(key)
            found.store(key, selector)
            current[key] = selector
    pods = tuple(
        Pod(metadata=ObjectMeta(name=f"p{number}", labels=each))
        for number, each in enumerate(labels)
    )
    wanted = sorted(key for key, each in current.items() if any(map(each.matches, labels)))
    assert found.controllers_of("shop", APP, pods) == tuple(wanted)


def test_nothing_is_kept_of_autoscalers_that_are_deleted():
    found = selectors(a="app=web", b="app=web,tier=x", c="app")
    for name in "abc":
        found.disappear(f"shop/{name}")
    assert (found._selectors, found._stored) == ({}, {})


def test_what_controls_the_pods_of_a_selector_is_found_once_until_something_changes():
    found, pods = selectors(a="app=web", b="app=web"), pods_of_a_stateful_set(2)
    first = found.controllers_of("shop", APP, pods)
    assert found.controllers_of("shop", APP, (*pods,)) is first
    found.appear("other/c")
    found.store("other/c", APP)
    assert found.controllers_of("shop", APP, pods) is first
    assert found.controllers_of("shop", APP, ()) == ()
    found.disappear("shop/a")
    assert found.controllers_of("shop", APP, pods) == ("shop/b",)


def test_selectors_that_match_the_same_pods_are_compared_with_them_once():
    """A user decides how many there are; each is another text, and all autoscalers share the pods."""
    found, pods = Selectors(remembered_max=2_000), pods_of_a_stateful_set(1)
    names = tuple(f"shop/a{number:03}" for number in range(100))
    different = [parse(f"app=web,x!=y{number}") for number in range(100)]
    for name, selector in zip(names, different, strict=True):
        found.appear(name)
        found.store(name, selector)
    for _ in range(2):
        for selector in different:
            assert found.controllers_of("shop", selector, pods) == names
    assert sum(each.metadata.labels.lookups for each in pods) == 2 * len(names)


def test_autoscalers_that_go_by_owners_and_match_the_same_pods_are_compared_with_them_once():
    found, pods = selectors(x="app"), pods_of_a_stateful_set(1)
    names = tuple(f"shop/{number:03}" for number in range(100))
    for name in names:
        found.appear(name)
        found.store(name, APP, by_owner=True)
    for name in names:
        assert found.controllers_of("shop", APP, pods, owned_for=name) == (name, "shop/x")
    assert found.controllers_of("shop", APP, pods, owned_for="shop/x") == ("shop/x",)
    assert found.controllers_of("shop", APP, pods, owned_for="shop/zz") == ("shop/x",)
    assert sum(each.metadata.labels.lookups for each in pods) <= 2 * len(names)


def remembered_sizes(found: Selectors) -> dict[str, int]:
    """Counted again, by namespace."""
    return {
        namespace: sum(each.size for each in kept.by_selector.values())
        for namespace, kept in found._remembered.items()
    }


def test_a_namespace_with_much_to_remember_takes_nothing_from_others():
    found, pods = Selectors(remembered_max=200), pods_of_a_stateful_set(3)
    for key in ("shop/a", "other/b"):
        found.appear(key)
        found.store(key, APP)
    first = found.controllers_of("other", APP, pods)
    for number in range(100):
        assert found.controllers_of("shop", parse(f"app!=x{number}"), pods) == ("shop/a",)
        assert sum(remembered_sizes(found).values()) <= 200
    assert found.controllers_of("other", APP, pods) is first


def test_what_is_remembered_has_a_limit():
    found, pods = Selectors(remembered_max=50), pods_of_a_stateful_set(3)
    found.appear("shop/a")
    found.store("shop/a", APP)
    for text in ("app=web", "app", "app!=db", "app in (web)", *(f"x!={n}" for n in range(20))):
        assert found.controllers_of("shop", parse(text), pods) == ("shop/a",)
        assert found._remembered_size == sum(remembered_sizes(found).values()) <= 50
    first = found.controllers_of("shop", APP, pods)
    assert found.controllers_of("shop", APP, pods) is first
    assert found.controllers_of("shop", APP, pods * 40) == first
    found.disappear("shop/a")
    assert (found._remembered, found._remembered_size) == ({}, 0)
