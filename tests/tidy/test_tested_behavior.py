"""Each deviation, flag, field and metric has a test that can be found by its name."""

from functools import cache

import pytest

from testbed.tested_behavior import Index, behaviors, deviations, sources

ALERTS = "tests/process/charts/test_alerts.py"
"""Its samples are written by hand, so they do not show that a program exports them."""


@cache
def marked() -> frozenset[str]:
    """The deviations that the marker of a test names."""
    return frozenset().union(*(each.deviations for each in sources() if "::" in each.name))


def test_each_deviation_has_a_test_with_its_marker():
    assert [name for name in deviations() if name not in marked()] == []


def test_each_marker_names_a_deviation():
    assert marked() - set(deviations()) == set()


@pytest.mark.parametrize("kind", ["flag", "field", "metric"])
def test_each_behavior_is_named_by_a_test(kind):
    index = Index(sources())
    found = {
        each.name: set(index.tests_of(each)) - {ALERTS}
        for each in behaviors()
        if each.kind.startswith(kind)
    }
    assert found
    assert [name for name, tests in found.items() if not tests] == []
