"""The index finds every object that a scan finds, whatever happened to the objects before."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.fetch.label_index import FEW, LABELS_MAX, LabelIndex
from wire.api import labels
from wire.kube.metadata_only import NameAndLabels, PartialObject

keys = st.sampled_from(["app", "tier"])
values = st.sampled_from(["web", "db", ""])
own_labels = st.dictionaries(keys, values)
namespaces = st.sampled_from(["shop", "blog"])
names = st.sampled_from(["a", "b", "c"])
events = st.lists(st.tuples(namespaces, names, own_labels | st.none()), max_size=12)
selectors = st.sampled_from(
    ["app=web", "app==db", "app in (web,db)", "app=web,tier=db", "app=web,tier!=db", "app=", "tier"]
).map(labels.parse)


class Objects:
    """A cache of objects, and the index that follows it."""

    def __init__(self) -> None:
        self.every: dict[tuple[str, str], PartialObject] = {}
        self.index = LabelIndex(self._read)
        self.scans = 0
        """How often all objects were read, which is once for each index that was built."""

    def _read(self) -> Collection[PartialObject]:
        self.scans += 1
        return self.every.values()

    def apply(self, namespace: str, name: str, own: dict[str, str] | None) -> None:
        """Set the labels of an object, or delete it."""
        old = self.every.pop((namespace, name), None)
        new = None
        if own is not None:
            metadata = NameAndLabels(name=name, namespace=namespace, labels=own)
            new = self.every[namespace, name] = PartialObject(metadata=metadata)
        self.index.changed(old, new)

    def scanned(self, namespace: str, selector: labels.Selector) -> set[str]:
        """The names of all objects that match."""
        return {
            name
            for (place, name), each in self.every.items()
            if place == namespace and selector.matches(each.metadata.labels)
        }

    def selected(self, namespace: str, selector: labels.Selector) -> set[str]:
        """The same by the index."""
        found = self.index.names(namespace, selector)
        if found is None:
            return self.scanned(namespace, selector)
        return {
            name for name in found if selector.matches(self.every[namespace, name].metadata.labels)
        }


@given(events, selectors, events, namespaces)
def test_a_selection_by_the_index_is_the_selection_by_a_scan(before, selector, after, namespace):
    objects = Objects()
    for event in before:
        objects.apply(*event)
    assert objects.selected(namespace, selector) == objects.scanned(namespace, selector)
    for event in after:
        objects.apply(*event)
        assert objects.selected(namespace, selector) == objects.scanned(namespace, selector)


def test_only_the_objects_with_the_rarest_label_are_candidates():
    objects = Objects()
    for name in "abc":
        objects.apply("shop", name, {"app": "web", "tier": "front" if name == "b" else "back"})
    for each in ("app=web", "tier=front"):
        objects.index.names("shop", labels.parse(each))
    assert objects.index.names("shop", labels.parse("app=web,tier=front")) == {"b"}
    assert objects.index.names("blog", labels.parse("app=web")) == set()


@pytest.mark.parametrize("text", ["", "app", "!app", "app!=web", "app notin (web)"])
def test_a_selector_without_an_equal_label_is_left_to_a_scan(text):
    assert Objects().index.names("shop", labels.parse(text)) is None


def test_selectors_with_invented_labels_do_not_fill_the_memory():
    objects = Objects()
    for number in range(10 * LABELS_MAX):
        objects.index.names("shop", labels.parse(f"label-{number}=x"))
    objects.apply("shop", "a", {"label-0": "x", "app": "web"})
    assert objects.selected("shop", labels.parse("label-0=x")) == {"a"}
    assert objects.selected("shop", labels.parse("app=web")) == {"a"}


@given(
    st.lists(st.tuples(namespaces, names, own_labels), max_size=12),
    st.lists(st.lists(st.tuples(keys, values), min_size=1, max_size=4), max_size=5),
    namespaces,
)
def test_selections_by_several_labels_find_what_a_plain_filter_finds(before, selections, namespace):
    objects = Objects()
    for event in before:
        objects.apply(*event)
    for pairs in selections:
        selector = labels.parse(",".join(f"{key}={value}" for key, value in pairs))
        scans = objects.scans
        found = objects.selected(namespace, selector)
        assert found == objects.scanned(namespace, selector)
        assert objects.scans <= scans + 1


@pytest.mark.parametrize("own", [{}, {f"label-{n}": "x" for n in range(300)}], ids=["none", "all"])
def test_a_selector_with_many_labels_builds_one_index(own):
    objects = Objects()
    for name in "abc":
        objects.apply("shop", name, own)
    selector = labels.parse(",".join(f"label-{number}=x" for number in range(300)))
    assert objects.selected("shop", selector) == (set("abc") if own else set())
    assert objects.scans == 1


@pytest.mark.parametrize("value", ["web", "absent"], ids=["few", "nothing"])
def test_no_index_is_built_when_the_present_ones_leave_little_to_compare(value):
    objects = Objects()
    objects.apply("shop", "a", {"app": "web", "tier": "front"})
    objects.index.names("shop", labels.parse("app=web"))
    selector = labels.parse(f"any=x,app={value},tier=front")
    assert objects.selected("shop", selector) == set()
    assert objects.scans == 1


def test_labels_that_most_objects_have_are_followed_by_the_index_of_a_rarer_one():
    objects = Objects()
    for number in range(FEW + 1):
        objects.apply("shop", f"web-{number}", {"app": "web", "hash": f"h{number}"})
    selector = labels.parse("app=web,hash=h7")
    assert len(objects.index.names("shop", selector)) == FEW + 1
    assert objects.index.names("shop", selector) == {"web-7"}
    assert objects.index.names("shop", selector) == {"web-7"}
    assert objects.scans == 2


def test_a_selector_with_many_labels_leaves_the_indexes_of_others():
    objects = Objects()
    objects.apply("shop", "a", {"app": "web"})
    objects.index.names("shop", labels.parse("app=web"))
    objects.index.names("shop", labels.parse(",".join(f"k{number}=x" for number in range(300))))
    scans = objects.scans
    assert objects.selected("shop", labels.parse("app=web")) == {"a"}
    assert objects.scans == scans
