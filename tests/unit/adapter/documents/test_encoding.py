"""A response with a selector of any length is what it would be without sharing it."""

import msgspec
import pytest

from adapter.documents import render
from adapter.documents.encoding import SHARED_BYTES_MIN, encoded
from adapter.model import ExternalMetricRequest, ExternalValue, ObjectValue
from tests.fakes.adapter import FakeMapping
from tests.traced_memory import traced_memory
from tests.unit.adapter.documents.test_render import metric_query, requested
from wire.api import labels

LONG = f"code in ({','.join(f'abcdefghi{number:05}' for number in range(8_700))})"
VALUES = [
    ObjectValue(name=f"web-{n}", value_milli=n, timestamp_seconds=1.0, sampled_seconds=1.0)
    for n in range(300)
]


def custom(version: str, selector: str, count: int = 300):
    request = requested(version, selector=selector)
    return render.custom_list(request, VALUES[:count], metric_query(60), FakeMapping())


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
@pytest.mark.parametrize("selector", ["", "code=200", LONG], ids=["none", "short", "long"])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_every_item_repeats_the_selector(version, selector, count):
    document = custom(version, selector, count)
    assert b"".join(encoded(document).pieces) == msgspec.json.encode(document)


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_long_selector_takes_memory_once(version):
    document = custom(version, LONG)
    with traced_memory() as memory:
        found = encoded(document)
        assert memory.peak_bytes < 1_000_000
        assert found.own_bytes < 500_000 < 40_000_000 < found.size_bytes


def test_a_selector_that_looks_like_the_placeholder_is_not_taken_for_it():
    """Texts in JSON have their quotes escaped, and no label has an empty name."""
    name = '{"matchLabels":{"":""}}'
    value = ObjectValue(name=name, value_milli=1, timestamp_seconds=1.0, sampled_seconds=1.0)
    document = render.custom_list(
        requested(selector=LONG), [value, *VALUES], metric_query(), FakeMapping()
    )
    assert b"".join(encoded(document).pieces) == msgspec.json.encode(document)


def test_a_list_of_external_metrics_is_encoded_as_it_is():
    request = ExternalMetricRequest(namespace="shop", metric="depth", selector=labels.EVERYTHING)
    value = ExternalValue(
        labels={"queue": "a" * SHARED_BYTES_MIN},
        value_milli=1,
        timestamp_seconds=1.0,
        sampled_seconds=1.0,
    )
    document = render.external_list(request, [value] * 300, metric_query())
    assert b"".join(encoded(document).pieces) == msgspec.json.encode(document)
