"""A document in pieces is the document, and takes only once what it repeats."""

import msgspec
import pytest

from tests.traced_memory import traced_memory
from wire.api.custom_metrics import MetricIdentifier, MetricValue, MetricValueList
from wire.api.json_pieces import DOCUMENT_BYTES_MAX, ITEMS_AT_ONCE, in_pieces
from wire.api.meta import LabelSelector
from wire.api.status import Status, StatusError

PLACEHOLDER = LabelSelector(match_labels={"": ""})
LONG = LabelSelector(match_labels={"a": "b" * 10_000})


def listed(count: int, selector: LabelSelector | None) -> MetricValueList:
    metric = MetricIdentifier(name="load", selector=selector)
    return MetricValueList(items=[MetricValue(metric=metric, value=str(n)) for n in range(count)])


@pytest.mark.parametrize(
    "count", [0, 1, ITEMS_AT_ONCE - 1, ITEMS_AT_ONCE, ITEMS_AT_ONCE + 1, 3 * ITEMS_AT_ONCE]
)
def test_the_pieces_are_the_document(count):
    document = listed(count, LONG)
    repeated = in_pieces(
        listed(count, PLACEHOLDER),
        placeholder=msgspec.json.encode(PLACEHOLDER),
        repeated=msgspec.json.encode(LONG),
    )
    for found in (in_pieces(document), repeated):
        assert b"".join(found.pieces) == msgspec.json.encode(document)
        assert found.size_bytes == len(msgspec.json.encode(document))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"items": list(range(1_000))}, id="a mapping"),
        pytest.param([1, 2], id="a list"),
        pytest.param(Status(message="no"), id="an object without items"),
    ],
)
def test_every_document_has_pieces(document):
    assert b"".join(in_pieces(document).pieces) == msgspec.json.encode(document)


def test_what_is_encoded_already_is_not_copied_and_takes_nothing_more():
    encoded = b'{"items":[]}'
    found = in_pieces(encoded)
    assert found.pieces[0] is encoded
    assert (found.size_bytes, found.own_bytes) == (len(encoded), 0)


def test_what_is_repeated_takes_memory_once():
    document = listed(1_000, PLACEHOLDER)
    placeholder, repeated = msgspec.json.encode(PLACEHOLDER), msgspec.json.encode(LONG)
    with traced_memory() as memory:
        found = in_pieces(document, placeholder=placeholder, repeated=repeated)
        assert memory.peak_bytes < 1_000_000 < found.size_bytes
        assert memory.kept_bytes <= found.own_bytes <= 2 * memory.kept_bytes


def test_a_document_that_is_too_large_is_an_error_before_it_is_complete():
    document = listed(100_000, LabelSelector(match_labels={"a": "b" * 1_000}))
    with traced_memory() as memory:
        with pytest.raises(StatusError, match="more than 64 MiB: request fewer objects") as refused:
            in_pieces(document)
        assert memory.peak_bytes < 1.1 * DOCUMENT_BYTES_MAX
    assert refused.value.code == 413


def test_what_is_repeated_counts_each_time_for_the_size_of_a_document():
    with pytest.raises(StatusError, match="more than 64 MiB"):
        in_pieces(
            listed(10_000, PLACEHOLDER),
            placeholder=msgspec.json.encode(PLACEHOLDER),
            repeated=msgspec.json.encode(LONG),
        )
