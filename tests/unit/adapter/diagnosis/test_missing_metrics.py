"""A metric that is not offered: why, and which ones are similar. All series may have to be searched for that."""

import threading
from collections.abc import Iterator, Sequence

from adapter.model import NAMESPACES, PODS, ListedRule, MetricEntry, Offer, Series
from tests.fakes.adapter import FakeCatalog, FakePrometheus
from tests.unit.adapter.diagnosis.test_explainer import (
    DEPTH,
    EXTERNAL,
    LOAD,
    ROOT,
    SERIES,
    explainer,
)


async def test_a_series_that_is_not_offered_for_a_resource_that_it_has_a_label_of_is_reported():
    labels = frozenset({"namespace", "pod", "service"})
    series = (Series("load", frozenset({"namespace"})), Series("load", labels))
    catalog = FakeCatalog(
        {MetricEntry(PODS, True, "load"): Offer(LOAD, "load")}, listed=[ListedRule(LOAD, series)]
    )
    [finding] = (
        await explainer(FakePrometheus(), catalog).explain(f"{ROOT}/services/s/load")
    ).findings
    assert finding.reason == "LabelNotMapped"
    assert "its label 'service'" in finding.message
    assert "which the series does not have" not in finding.message
    assert "rules[0].resources.overrides" in finding.fix


class ReadSeries(list[Series]):
    """Series that know which threads have read them."""

    def __init__(self, series: Sequence[Series]) -> None:
        super().__init__(series)
        self.threads: set[int] = set()

    def __iter__(self) -> Iterator[Series]:
        self.threads.add(threading.get_ident())
        return super().__iter__()


async def test_the_event_loop_goes_on_while_the_series_of_a_missing_metric_are_searched():
    series = ReadSeries(SERIES)
    catalog = FakeCatalog(listed=[ListedRule(LOAD, series)])
    explanation = await explainer(FakePrometheus(), catalog).explain(f"{ROOT}/pods/p/gone")
    assert explanation.code == 404
    assert series.threads
    assert threading.get_ident() not in series.threads


async def test_similar_metrics_are_named_as_discovery_lists_them():
    offers = {
        MetricEntry(resource, resource == PODS, "http_requests"): Offer(LOAD, "http_requests")
        for resource in (PODS, NAMESPACES)
    }
    catalog = FakeCatalog(offers, {"queue_depth": Offer(DEPTH)})
    explaining = explainer(FakePrometheus(), catalog)
    of_pods = await explaining.explain(f"{ROOT}/pods/p/htp_requests")
    assert of_pods.similar == ("namespaces/http_requests", "pods/http_requests")
    assert (await explaining.explain(f"{EXTERNAL}/queue_dept")).similar == ("queue_depth",)
