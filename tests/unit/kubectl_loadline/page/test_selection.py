"""Which rows the page shows, in which order, and the URLs for others."""

from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_loadline.page.selection import ORDERS, PAGE_ROWS, SHOWS, Selection, selection_of, shown
from kubectl_loadline.status.row import LIMITS, Row

NOW = 100_000.0


def row(
    name, *limits, namespace="shop", kind="la", current=3, desired=3, dry_run=False, scaled=None
):
    return Row(
        kind=kind, namespace=namespace, name=name, target="Deployment/web", min=1, max=9,
        current=current, desired=desired, limited_by=limits, dry_run=dry_run, last_scaled_unix_seconds=scaled,
    )  # fmt: skip


ROWS = [
    row("api"),
    row("web", "window"),
    row("cart", "metric"),
    row("mail", desired=5),
    row("jobs", kind="hpa", namespace="billing", current=None, desired=None),
    row("test", dry_run=True),
]


def names(**given):
    return [each.name for each in shown(ROWS, Selection(**given), NOW).rows]


def test_what_has_a_problem_comes_first_then_what_is_limited_then_what_changes():
    assert names() == ["cart", "web", "mail", "jobs", "api", "test"]


def test_the_maximum_comes_before_other_limits():
    rows = [row("a", "window"), row("b", "max", "policy"), row("c", "metric")]
    found = shown(rows, Selection(), NOW)
    assert [each.name for each in found.rows] == ["c", "b", "a"]


def test_what_a_person_on_call_asks_first_is_counted_and_can_be_shown_alone():
    rows = [
        row("broken", "metric"),
        row("full", "max", scaled=NOW - 900),
        row("early", scaled=NOW - 901),
    ]
    counts = shown(rows, Selection(text="none of these"), NOW).counts
    assert counts == {"": 3, "problems": 1, "maximum": 1, "recent": 1}
    for show, expected in (("problems", "broken"), ("maximum", "full"), ("recent", "full")):
        assert [each.name for each in shown(rows, Selection(show=show), NOW).rows] == [expected]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"text": "shop web"}, ["cart", "web", "mail", "api", "test"]),
        ({"text": "shop/web"}, ["web"]),
        ({"text": "billing"}, ["jobs"]),
        ({"text": "nothing"}, []),
        ({"limit": "window"}, ["web"]),
        ({"kind": "hpa"}, ["jobs"]),
        ({"mode": "DryRun"}, ["test"]),
        ({"mode": "Enforce", "kind": "la", "limit": "metric"}, ["cart"]),
    ],
)
def test_filters_combine(given, expected):
    assert names(**given) == expected


@pytest.mark.parametrize(
    ("order", "first"),
    [("name", "jobs"), ("current", "jobs"), ("desired", "jobs"), ("target", "jobs")],
)
def test_the_order_may_be_another_and_unknown_counts_are_the_least(order, first):
    assert names(order=order)[0] == first
    assert names(order=order, descending=True)[-1] == first


@given(
    count=st.integers(0, 230),
    page=st.integers(1, 9),
    order=st.sampled_from(sorted(ORDERS)),
    descending=st.booleans(),
)
def test_the_pages_together_have_every_row_once(count, page, order, descending):
    rows = [row(f"a{index}", *LIMITS[index % 3 : index % 5]) for index in range(count)]
    first = shown(rows, Selection(order=order, descending=descending), NOW)
    pages = [
        shown(rows, Selection(order=order, descending=descending, page=number), NOW).rows
        for number in range(1, first.pages + 1)
    ]
    found = [each.name for each in sum(pages, ())]
    assert sorted(found) == sorted(each.name for each in rows)
    assert all(len(each) <= PAGE_ROWS for each in pages)
    behind = shown(rows, Selection(order=order, page=page), NOW)
    assert behind.page == min(page, behind.pages)


@given(
    st.builds(
        Selection,
        show=st.sampled_from(sorted(SHOWS)),
        text=st.text(max_size=20).map(lambda text: text.strip().lower()),
        limit=st.sampled_from(["", *LIMITS]),
        kind=st.sampled_from(["", "la", "hpa"]),
        mode=st.sampled_from(["", "DryRun", "Enforce"]),
        order=st.sampled_from(sorted(ORDERS)),
        descending=st.booleans(),
        page=st.integers(1, 10**8),
    )
)
def test_a_selection_is_the_same_after_its_own_url(selection):
    query = {name: values[0] for name, values in parse_qs(selection.query()).items()}
    assert selection_of(query) == selection


@pytest.mark.parametrize(
    "query",
    [{"page": "0"}, {"page": "-1"}, {"page": "²"}, {"order": "x"}, {"limit": "<b>"}, {"kind": "pod"}],
)  # fmt: skip
def test_what_a_url_may_not_say_counts_as_not_given(query):
    assert selection_of(query) == Selection()


def test_the_heading_of_the_order_reverses_it():
    selection = Selection(order="name", page=3)
    assert selection.ordered_by("name") == "order=name&descending=1"
    assert Selection(order="name", descending=True).ordered_by("name") == "order=name"
    assert selection.ordered_by("target") == "order=target"
