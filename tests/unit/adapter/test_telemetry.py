"""The adapter's own metrics are those that the document lists, and clients cannot make them grow."""

import re
from pathlib import Path

import pytest
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from adapter import telemetry

DOCUMENT = Path(__file__).parents[3] / "docs" / "adapter.md"
METRICS = [each for each in vars(telemetry).values() if isinstance(each, MetricWrapperBase)]
FROM_A_SMALL_SET = {
    "version",
    "python_version",
    "resource",
    "phase",
    "api",
    "code",
    "backend",
    "endpoint",
    "outcome",
    "source",
    "series_query",
    "metric",
    "query",
    "reason",
}


def served_name(metric: MetricWrapperBase) -> str:
    return f"{metric._name}_total" if isinstance(metric, Counter) else metric._name


def rows() -> dict[str, set[str]]:
    """Metric to labels, as the document's table has them."""
    found: dict[str, set[str]] = {}
    for names, labels in re.findall(r"^\| (`loadline_adapter_.*?) \| (.*?) \|$", DOCUMENT.read_text(), re.MULTILINE):  # fmt: skip
        for name in re.findall(r"`(\w+)`", names):
            found[name] = set(re.findall(r"`(\w+)`", labels)) & FROM_A_SMALL_SET
    return found


def test_the_document_lists_exactly_the_metrics_that_exist():
    assert {served_name(each) for each in METRICS} == set(rows())


@pytest.mark.parametrize("metric", METRICS, ids=served_name)
def test_labels_are_those_of_the_document_and_come_from_small_sets(metric):
    labels = set(metric._labelnames)
    assert labels <= rows()[served_name(metric)]
    assert labels <= FROM_A_SMALL_SET


@pytest.mark.parametrize("metric", METRICS, ids=served_name)
def test_names_follow_the_rules_of_prometheus(metric):
    name = served_name(metric)
    assert name.startswith("loadline_adapter_")
    if isinstance(metric, Histogram):
        assert name.endswith("_seconds")
    if isinstance(metric, Gauge):
        assert not name.endswith("_total")
    assert metric._documentation.endswith(".")
