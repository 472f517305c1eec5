"""prometheus-adapter's series registry: its default rules, what they list, and the query of each request."""

import msgspec
import pytest

from adapter.answer.query_plan import custom_metric_query
from adapter.config import parse
from adapter.model import EVERY_OBJECT, CustomMetricRequest, GroupResource, MetricEntry
from adapter.promql.series_offers import Offers, offers
from tests.fakes.adapter import FakeMapping, Kind
from tests.fakes.adapter_vectors import read_series
from wire.api import labels

KINDS = (
    Kind("pods", "pod", "Pod"),
    Kind("services", "service", "Service"),
    Kind("ingresses", "ingress", "Ingress", group="extensions", version="v1beta1"),
    Kind("deployments", "deployment", "Deployment", group="extensions", version="v1beta1"),
    Kind("nodes", "node", "Node", namespaced=False),
    Kind("persistentvolumes", "persistentvolume", "PersistentVolume", namespaced=False),
    Kind("namespaces", "namespace", "Namespace", namespaced=False),
)


class Case(msgspec.Struct):
    resource: str
    namespace: str
    metric: str
    name: str
    selector: str
    query: str


class Row(msgspec.Struct):
    configuration: str
    series: dict[str, list[str] | None]
    metrics: list[str]
    cases: list[Case]


@pytest.fixture(scope="module")
def row(rows):
    return rows("registry.jsonl", Row)[0]


@pytest.fixture(scope="module")
def table(row) -> Offers:
    return offers(parse(row.configuration).rules, read_series(row.series), FakeMapping(KINDS))


def shown(entry: MetricEntry) -> str:
    return f"{entry.resource}/{entry.metric}{'(namespaced)' if entry.namespaced else ''}"


def test_the_default_rules_list_what_prometheus_adapter_lists(row, table):
    assert sorted(map(shown, table.custom)) == row.metrics


def test_each_request_sends_the_query_of_prometheus_adapter(row, table):
    requested = [(case, query_of(case, table)) for case in row.cases]
    assert [(case, query) for case, query in requested if query != case.query] == []
    assert len(requested) == 15


def query_of(case: Case, table: Offers) -> str:
    """The query, or nothing when the metric is not there for the resource in that scope."""
    mapping, resource = FakeMapping(KINDS), GroupResource.parse(case.resource)
    entry = MetricEntry(mapping.resource_for(resource), bool(case.namespace), case.metric)
    if entry not in table.custom:
        return ""
    request = CustomMetricRequest(
        resource=resource,
        name=EVERY_OBJECT,
        metric=case.metric,
        namespace=case.namespace,
        selector=labels.EVERYTHING,
        metric_selector=labels.parse(case.selector),
    )
    return custom_metric_query(request, table.custom[entry], mapping, [case.name]).plan.query
