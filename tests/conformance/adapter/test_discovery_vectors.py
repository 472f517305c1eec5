"""Discovery documents against the Go types' own JSON, which testbed/oracle/wire wrote."""

from typing import Any

import msgspec
import pytest

from adapter.documents import discovery


class Row(msgspec.Struct):
    name: str
    json: str


TYPES: dict[str, Any] = {
    "group": discovery.APIGroup,
    "groups": discovery.APIGroupList,
    "resources": discovery.APIResourceList,
    "resources, empty": discovery.APIResourceList,
    "aggregated": discovery.APIGroupDiscoveryList,
}


@pytest.mark.parametrize("name", TYPES)
def test_a_discovery_document_of_the_go_types_is_encoded_byte_for_byte(rows, name):
    documents = {row.name: row.json.encode() for row in rows("../wire/documents.jsonl", Row)}
    decoded = msgspec.json.decode(documents[name], type=TYPES[name])
    assert msgspec.json.encode(decoded) == documents[name]
