"""Metrics of cluster-scoped objects, which an HPA requests within its own namespace."""

import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.model import (
    NODES,
    CustomMetricRequest,
    DiscoveryRule,
    GroupResource,
    MetricEntry,
    NamedRule,
    Offer,
    ResourceLabels,
)
from tests.fakes.adapter import (
    CORE_KINDS,
    FakeCatalog,
    FakeMapping,
    FakeObjects,
    FakePrometheus,
    Kind,
    vector,
)
from tests.unit.adapter.answer.test_answering import DISCOVERED as CONTRACT
from tests.unit.adapter.answer.test_answering import EVERYTHING
from wire.api.status import StatusError

CLASSES = GroupResource("storageclasses", "storage.k8s.io")
CLASS = Kind(
    "storageclasses", "storageclass", "StorageClass", group="storage.k8s.io", namespaced=False
)
DISCOVERED = DiscoveryRule(
    path="rules[0]",
    external=False,
    series_query="used_bytes",
    resources=ResourceLabels(template="<<.Resource>>"),
    metrics_query="sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)",
    contract=CONTRACT,
)
NAMED = NamedRule(
    path="metrics[0]",
    name="used",
    query="sum by (storageclass) (used_bytes)",
    describes=CLASSES,
    object_label="storageclass",
    contract=CONTRACT,
)
IN_SHOP = 'sum(used_bytes{namespace="shop",storageclass="fast"}) by (storageclass)'


def answers(prometheus, rule, resource=CLASSES) -> Answers:
    entries = {MetricEntry(resource, False, "used"): Offer(rule, "used_bytes")}
    return Answers(
        evaluator=prometheus,
        objects=FakeObjects({}),
        mapping=FakeMapping((*CORE_KINDS, CLASS)),
        active=ActiveConfiguration(catalog=FakeCatalog(entries, {})),
        now=lambda: 1_000.0,
        monotonic=lambda: 1_000.0,
    )


def used(name="fast", resource=CLASSES) -> CustomMetricRequest:
    return CustomMetricRequest(
        resource=resource,
        name=name,
        metric="used",
        namespace="shop",
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
    )


async def test_within_a_namespace_the_series_of_the_namespace_count():
    prometheus = FakePrometheus({IN_SHOP: vector(({"storageclass": "fast"}, 7.0))})
    found = await answers(prometheus, DISCOVERED).custom(used())
    [item] = found.items
    assert item.value == "7"
    described = item.described_object
    assert (described.kind, described.name, described.namespace) == ("StorageClass", "fast", "shop")


@pytest.mark.parametrize(
    ("rule", "resource", "name"),
    [
        pytest.param(NAMED, CLASSES, "fast", id="a named metric, which has no matcher of it"),
        pytest.param(DISCOVERED, CLASSES, "*", id="all objects, which no namespace has"),
        pytest.param(DISCOVERED, NODES, "node-1", id="nodes, as in prometheus-adapter"),
    ],
)
async def test_otherwise_there_is_no_metric_within_a_namespace(rule, resource, name):
    response = answers(FakePrometheus(), rule, resource).custom(used(name, resource))
    with pytest.raises(StatusError, match="could not find the metric used") as refused:
        await response
    assert refused.value.code == 404
