"""The discovery documents of a large catalog: the event loop goes on while they are encoded."""

import asyncio

import msgspec
import pytest

from adapter.answer import ActiveConfiguration
from adapter.documents import resource_lists
from adapter.documents.paths import VERSIONS
from adapter.model import PODS, MetricEntry, Offer
from adapter.serve.api_discovery import SLICE, ResourceDocuments
from tests.fakes.adapter import FakeCatalog
from tests.other_tasks import turns_during
from tests.unit.adapter.answer.test_answering import EXTERNAL, RULE

CUSTOM, EXTERNAL_GROUP = "custom.metrics.k8s.io", "external.metrics.k8s.io"


def active(count: int) -> ActiveConfiguration:
    entries = sorted(MetricEntry(PODS, True, f"metric_{number}") for number in range(count))
    catalog = FakeCatalog(
        {each: Offer(RULE, each.metric) for each in entries},
        {each.metric: Offer(EXTERNAL, each.metric) for each in entries},
    )
    # As the real one: a new list for a change only.
    catalog.custom_entries = lambda: entries
    names = catalog.external_metrics()
    catalog.external_metrics = lambda: names
    return ActiveConfiguration(catalog=catalog, groups=tuple(VERSIONS))


async def document(documents: ResourceDocuments, of: ActiveConfiguration, *where: str) -> bytes:
    return b"".join((await documents.document(of, *where)).pieces)


@pytest.mark.parametrize("count", [0, 1, SLICE, SLICE + 1, 3 * SLICE])
async def test_a_document_in_slices_is_the_whole_document(count):
    large = active(count)
    entries = large.catalog.custom_entries()
    documents = ResourceDocuments()
    for version in VERSIONS[CUSTOM]:
        expected = msgspec.json.encode(resource_lists.custom_resources(entries, version))
        assert await document(documents, large, CUSTOM, version) == expected
    expected = msgspec.json.encode(
        resource_lists.external_resources(large.catalog.external_metrics())
    )
    assert await document(documents, large, EXTERNAL_GROUP, "v1beta1") == expected


async def test_the_event_loop_goes_on_after_each_slice():
    encoding = document(ResourceDocuments(), active(10 * SLICE), CUSTOM, "v1beta1")
    _, turns = await turns_during(encoding)
    assert turns >= 10


async def test_requests_of_both_versions_share_what_is_encoded_once():
    documents, large = ResourceDocuments(), active(3 * SLICE)
    first, *others = await asyncio.gather(
        *(documents.document(large, CUSTOM, version) for version in VERSIONS[CUSTOM] * 2)
    )
    for each in others:
        shared = zip(first.pieces[1:-1], each.pieces[1:-1], strict=True)
        assert all(one is another for one, another in shared)


async def test_a_changed_catalog_is_encoded_again():
    documents = ResourceDocuments()
    before = await document(documents, active(SLICE), CUSTOM, "v1beta1")
    after = await document(documents, active(SLICE + 1), CUSTOM, "v1beta1")
    assert f"metric_{SLICE}".encode() not in before
    assert f"metric_{SLICE}".encode() in after


async def test_a_request_that_waits_for_another_one_is_answered_with_the_newest_list():
    documents, changing = ResourceDocuments(), active(0)
    lists = [active(count).catalog.custom_entries() for count in (3 * SLICE, 1)]
    changing.catalog.custom_entries = lambda: lists[0]
    first, second = (
        asyncio.create_task(document(documents, changing, CUSTOM, "v1beta1")) for _ in range(2)
    )
    for _ in range(2):
        await asyncio.sleep(0)
    del lists[0]
    assert f"metric_{SLICE}".encode() in await first
    assert f"metric_{SLICE}".encode() not in await second
