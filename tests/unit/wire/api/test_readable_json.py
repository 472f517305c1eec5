"""What Go reads and msgspec refuses is left out or replaced, and nothing else changes."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.api import kube_json, readable_json
from wire.api.readable_json import LEVELS_MAX

# What kube-apiserver accepts: `maxNestingDepth` of Go's encoding/json.
GO_LEVELS_MAX = 10_000


def nested(levels: int, within: bytes = b"1") -> bytes:
    return b'{"f:a":' * levels + within + b"}" * levels


class Read(msgspec.Struct, frozen=True):
    raw: msgspec.Raw = msgspec.Raw(b"")
    name: str = ""


@pytest.mark.parametrize("levels", [LEVELS_MAX, 1_000, GO_LEVELS_MAX, 400_000])
@pytest.mark.parametrize("field", [b"raw", b"unknown"])
def test_a_deeply_nested_field_hides_no_other(levels, field):
    body = b'{"%s":%s,"name":"a"}' % (field, nested(levels))
    assert kube_json.decode(body, Read).name == "a"


def test_a_kept_part_of_a_deeply_nested_document_can_be_decoded_in_its_turn():
    body = b'{"raw":{"raw":%s,"name":"inner"}}' % nested(GO_LEVELS_MAX)
    assert kube_json.decode(kube_json.decode(body, Read).raw, Read).name == "inner"


def test_null_and_deep_nesting_in_one_document():
    body = b'{"name":null,"raw":%s}' % nested(GO_LEVELS_MAX)
    assert kube_json.decode(body, Read).name == ""


@pytest.mark.parametrize(
    "escape",
    [rb"\ud800", rb"\uDBFF", rb"\udc00x", rb"\ud800\u0041", rb"\ud800\ud800", rb"\\\ud800"],
)
def test_half_a_surrogate_pair_hides_no_other_field(escape):
    """kube-apiserver passes on the bytes of `managedFields` as they were written."""
    body = b'{"unknown":{"f:%s":{}},"name":"a"}' % escape
    assert kube_json.decode(body, Read).name == "a"


@pytest.mark.parametrize(
    ("text", "means"),
    [
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ud800", "\ufffd"),
        (rb"\ud0ab\ud800", "\ud0ab\ufffd"),
        (rb"\ud800\u0041", "\ufffdA"),
        (rb"\ud800\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\\ud800", r"\ud800"),
        (rb"\\\ud800", "\\\ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_replaced_as_by_encoding_json(text, means):
    body = b'{"unknown":"\\udfff","name":"%s"}' % text
    assert kube_json.decode(body, Read).name == means


@pytest.mark.parametrize("text", [rb"\ud800", b"\xff"])
def test_a_text_that_is_replaced_changes_nothing_else(text):
    """What is nested is left alone: to look for it takes most of the time for a large page of a LIST."""
    deep = nested(LEVELS_MAX + 10)
    read = kube_json.decode(b'{"raw":%s,"name":"%s"}' % (deep, text), Read)
    assert (bytes(read.raw), read.name) == (deep, "\ufffd")


def test_bytes_that_are_not_utf_8_are_replaced_as_by_encoding_json():
    assert kube_json.decode(b'{"name":"a\xff\xfeb"}', Read).name == "a\ufffd\ufffdb"


PARTS_OF_UTF_8 = [
    b"a",
    b"\xc3",
    b"\xa9",
    b"\xe2\x82",
    b"\xac",
    b"\xed",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xff",
]


@given(st.lists(st.sampled_from(PARTS_OF_UTF_8), max_size=12).map(b"".join))
def test_each_byte_that_is_not_part_of_a_character_is_replaced_and_no_other(body):
    expected, left = "", body
    while left:
        character = next((left[:n] for n in range(1, 5) if is_utf_8(left[:n])), None)
        expected += "\ufffd" if character is None else character.decode()
        left = left[1 if character is None else len(character) :]
    assert readable_json.with_whole_characters(body).decode() == expected


def is_utf_8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"name":"a","raw":' + b"[" * 100_000,
        b"]" * 9,
        b'{"name":"\\ud8\xf0\x9f"}',
    ],
    ids=["open", "open within", "closed", "broken escape"],
)
def test_what_is_not_json_stays_a_decode_error(body):
    with pytest.raises(msgspec.DecodeError):
        kube_json.decode(body, Read)


TEXTS = st.text(st.sampled_from('a{}[]"\\,:\u00e9'), max_size=6)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=30,
)


def shallow(value: Any, levels_max: int) -> Any:
    if isinstance(value, list | dict) and levels_max == 0:
        return None
    if isinstance(value, list):
        return [shallow(each, levels_max - 1) for each in value]
    if isinstance(value, dict):
        return {name: shallow(each, levels_max - 1) for name, each in value.items()}
    return value


@given(DOCUMENTS, st.integers(1, 4), st.booleans(), st.sampled_from([None, 2]))
def test_only_what_is_nested_deeper_is_left_out(document, levels_max, ascii_only, indent):
    body = json.dumps(document, ensure_ascii=ascii_only, indent=indent).encode()
    assert json.loads(readable_json.shallow(body, levels_max=levels_max)) == shallow(
        document, levels_max
    )
