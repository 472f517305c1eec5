"""A metric that is not offered is refused quickly, however many there are."""

from collections.abc import Sequence

from adapter.model import GroupResource, MetricEntry, Offer
from tests.fakes.adapter import FakeCatalog
from tests.unit.adapter.answer.test_answering import RULE, answers, custom, refusal


class UnlistedCatalog(FakeCatalog):
    """One whose list of all metrics takes too long to be read for a request."""

    def custom_entries(self) -> Sequence[MetricEntry]:
        raise AssertionError("all metrics were read")


async def test_a_missing_metric_is_refused_without_reading_all_metrics():
    described = MetricEntry(GroupResource("services"), True, "requests")
    catalog = UnlistedCatalog({described: Offer(RULE, "requests")})
    requested = answers(catalog=catalog)
    refused = await refusal(requested.custom(custom()))
    assert refused.code == 404
    assert "the metric exists for services" in refused.message
