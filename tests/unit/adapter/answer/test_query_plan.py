"""The rows of a rule's own query that belong to a request."""

import pytest

from adapter.answer.query_plan import custom_metric_query
from adapter.model import (
    NAMESPACES,
    PODS,
    CustomMetricRequest,
    NamedRule,
    Offer,
    Reaction,
    SignalContract,
)
from tests.fakes.adapter import FakeMapping
from wire.api.labels import EVERYTHING

CONTRACT = SignalContract(on_empty=Reaction.OMIT, on_nan=Reaction.OMIT, on_partial=Reaction.ACCEPT)


@pytest.mark.parametrize(
    ("namespace_label", "namespace", "where"),
    [
        pytest.param("ns", "shop", (("ns", "shop"),), id="of a namespace"),
        pytest.param("ns", "", (), id="of a resource without namespaces"),
        pytest.param("", "shop", (), id="without a label for it"),
    ],
)
def test_a_request_gets_only_the_rows_of_its_namespace(namespace_label, namespace, where):
    rule = NamedRule(
        path="metrics[0]",
        name="load",
        query="sum(load) by (ns, pod)",
        describes=PODS if namespace else NAMESPACES,
        object_label="pod",
        namespace_label=namespace_label,
        contract=CONTRACT,
    )
    request = CustomMetricRequest(
        resource=PODS,
        name="web-1",
        metric="load",
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
        namespace=namespace,
    )
    query = custom_metric_query(request, Offer(rule), FakeMapping(), ("web-1",))
    assert query.plan.query == "sum(load) by (ns, pod)", "the same for every request"
    assert query.rows.where == where
    assert query.rows.object_label == "pod"
