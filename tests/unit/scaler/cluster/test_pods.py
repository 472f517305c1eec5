"""The index of pods finds what a scan of every pod would find."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.observed import Pod, PodMetadata
from scaler.cluster.pods import PodIndex
from wire.api.labels import from_label_selector, parse
from wire.api.meta import LabelSelector, LabelSelectorRequirement


def pod(name: str, namespace: str = "shop", **labels: str) -> Pod:
    return Pod(metadata=PodMetadata(name=name, namespace=namespace, labels=labels))


def names(index: PodIndex, selector: str, namespace: str = "shop") -> list[str]:
    return [each.metadata.name for each in index.matching(namespace, parse(selector))]


def test_pods_of_other_namespaces_and_labels_are_not_found():
    index = PodIndex()
    for each in (pod("b", app="web"), pod("a", app="web"), pod("c", "other", app="web"), pod("d")):
        index.change(None, each)
    assert names(index, "app=web") == ["a", "b"]
    assert names(index, "app in (web,db)") == ["a", "b"]
    assert names(index, "!app") == ["d"]


@pytest.mark.deviation("pods-in-order")
@given(st.permutations("abcdef"))
def test_pods_are_in_the_order_of_their_names(order):
    index = PodIndex()
    for name in order:
        index.change(None, pod(name, app="web"))
    assert names(index, "app=web") == list("abcdef")


def test_a_pod_whose_labels_changed_is_found_by_its_new_labels():
    index = PodIndex()
    before, after = pod("a", app="web"), pod("a", app="db")
    index.change(None, before)
    index.change(before, after)
    assert (names(index, "app=web"), names(index, "app=db")) == ([], ["a"])


def test_nothing_is_kept_of_deleted_pods():
    index = PodIndex()
    index.change(None, pod("a", app="web"))
    index.change(pod("a", app="web"), None)
    assert (index._groups, index._by_label) == ({}, {})


pods = st.builds(
    lambda name, labels: pod(name, **labels),
    st.sampled_from("abcdef"),
    st.dictionaries(st.sampled_from(["app", "tier"]), st.sampled_from(["x", "y"])),
)
selectors = st.sampled_from(
    ["app=x", "tier=y,app=x", "app!=x", "tier in (x,y)", "tier in (x,y),app=x", "app", "!tier", ""]
)


@given(st.lists(st.tuples(pods, st.booleans()), max_size=30), selectors)
def test_it_agrees_with_a_scan_of_every_pod(changes, selector):
    index = PodIndex()
    there: dict[str, Pod] = {}
    for each, remains in changes:
        old = there.pop(each.metadata.name, None)
        index.change(old, each if remains else None)
        if remains:
            there[each.metadata.name] = each
        wanted = [
            found
            for _, found in sorted(there.items())
            if parse(selector).matches(found.metadata.labels)
        ]
        assert list(index.matching("shop", parse(selector))) == wanted


@given(st.lists(st.tuples(pods, st.booleans()), max_size=20), st.lists(selectors, max_size=4))
def test_what_is_remembered_of_several_selectors_agrees_with_a_scan(changes, texts):
    index = PodIndex()
    there: dict[str, Pod] = {}
    for each, remains in changes:
        index.change(there.pop(each.metadata.name, None), each if remains else None)
        if remains:
            there[each.metadata.name] = each
        for selector in map(parse, texts):
            wanted = {name for name, one in there.items() if selector.matches(one.metadata.labels)}
            assert {one.metadata.name for one in index.matching("shop", selector)} == wanted


def test_a_value_that_is_written_twice_finds_its_pods_once():
    index = PodIndex()
    index.change(None, pod("a", app="web"))
    twice = LabelSelectorRequirement(key="app", operator="In", values=["web", "web"])
    selector = from_label_selector(LabelSelector(match_expressions=[twice]))
    assert len(index.matching("shop", selector)) == 1


class CountedLabels(dict[str, str]):
    """They count how often one of them is looked up."""

    lookups = 0

    def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.lookups += 1
        return super().get(key, default)


def counted(name: str, **labels: str) -> tuple[Pod, CountedLabels]:
    counting = CountedLabels(labels)
    return Pod(metadata=PodMetadata(name=name, namespace="shop", labels=counting)), counting


@pytest.mark.parametrize(
    "text", ["app=web{0}", "app in (web{0},api{0})", "app in (web{0}),tier=x", "tier=x,app=web{0}"]
)
def test_a_pod_is_compared_with_few_of_many_selectors(text):
    index = PodIndex()
    for number in range(500):
        assert not index.matching("shop", parse(text.format(number)))
    changed, lookups = counted("a", app="web7", tier="x")
    index.change(None, changed)
    assert lookups.lookups <= 4
    assert index.matching("shop", parse(text.format(7))) == (changed,)


def test_of_many_pods_only_those_with_one_of_the_values_are_compared_with_a_selector():
    index = PodIndex()
    all_lookups = []
    for number in range(500):
        each, lookups = counted(f"p{number}", app=f"web{number}")
        index.change(None, each)
        all_lookups.append(lookups)
    assert len(index.matching("shop", parse("app in (web7,web9,other)"))) == 2
    assert sum(each.lookups for each in all_lookups) == 2


def test_the_matches_of_a_selector_are_the_same_object_until_one_of_its_pods_changes():
    index = PodIndex()
    one, other = pod("a", app="web"), pod("b", app="db")
    index.change(None, one)
    index.change(None, other)
    before = index.matching("shop", parse("app=web"))
    index.change(other, pod("b", app="db", tier="x"))
    index.change(None, pod("c", "bank", app="web"))
    assert index.matching("shop", parse("app=web")) is before
    index.change(one, pod("a", app="web"))
    assert index.matching("shop", parse("app=web")) is not before


def test_pods_are_remembered_of_no_more_selectors_than_the_limit():
    index = PodIndex(selectors_bytes_max=3_000)
    index.change(None, pod("a", app="web"))
    for number in range(10):
        assert names(index, f"app!=db{number}") == ["a"]
        assert len(index._matches) <= 5
    assert index._matches


def test_the_pods_of_long_selectors_are_remembered_of_fewer():
    index = PodIndex(selectors_bytes_max=1_000_000)
    index.change(None, pod("a", app="web"))
    for number in range(100):
        values = ",".join(f"v{each}" for each in range(200))
        assert names(index, f"app notin (w{number},{values})") == ["a"]
    assert 10 < len(index._matches) < 60


def test_a_selector_that_matches_another_pod_now_is_counted_once():
    index = PodIndex(selectors_bytes_max=3_000)
    for number in range(50):
        index.change(None, pod(f"a{number}", app="web"))
        assert len(names(index, "app=web")) == number + 1
    before = index.matching("shop", parse("app=db"))
    assert index.matching("shop", parse("app=db")) is before, "nothing had to be forgotten"
    index.change(None, pod("b", app="other"))
    assert set(index._matches) == {("shop", parse("app=db")), ("shop", parse("app=web"))}
