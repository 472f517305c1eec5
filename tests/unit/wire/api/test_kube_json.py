"""`null` means nothing, in every document that the two programs read from Kubernetes."""

import ast
import contextlib
import importlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from tests.traced_memory import traced_memory
from wire.api import kube_json
from wire.api.meta import LabelSelector, ObjectMeta

ROOT = Path(__file__).parents[4]
READERS = {"kube_json.decode", "decoded", "WatchCache"}


def decoded_types() -> list[type[msgspec.Struct]]:
    """Every struct that the code gives to one of the functions that read documents."""
    found: dict[type[msgspec.Struct], None] = {}
    for program in ("adapter", "scaler", "wire", "kubectl_loadline"):
        for path in sorted((ROOT / program).rglob("*.py")):
            text = path.read_text("utf-8")
            if not any(reader in text for reader in READERS):
                continue
            calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
            for call in calls:
                if ast.unparse(call.func) in READERS:
                    module = importlib.import_module(
                        ".".join(path.relative_to(ROOT).with_suffix("").parts)
                    )
                    named = [each.id for each in call.args if isinstance(each, ast.Name)]
                    types = [getattr(module, name, None) for name in named]
                    found |= {each: None for each in types if is_struct(each)}
    return list(found)


def is_struct(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, msgspec.Struct)


TYPES = decoded_types()


def test_the_types_are_found():
    names = {each.__name__ for each in TYPES}
    assert {"Autoscaler", "Pod", "Scale", "Lease", "Status", "MetricValueList", "_TokenReview",
            "PodMetricsList", "ConfigMap", "ListedObject", "_AccessReview"} <= names  # fmt: skip


def test_every_document_of_kubernetes_is_decoded_by_kube_json():
    # What is left reads Prometheus, this program's own documents, or encodes.
    others = {
        "adapter/runtime/explaining.py",
        "adapter/fetch/decode.py",
        "kubectl_loadline/decisions/last.py",
        "kubectl_loadline/recorded_series/files.py",
        "kubectl_loadline/page/deciding.py",
        "kubectl_loadline/terminal/documents.py",
        "scaler/algorithm/derivation.py",
        "scaler/algorithm/history.py",
        "kubectl_loadline/recorded_series/of_metrics.py",
        "scaler/cluster/forecast/load_query.py",
        "wire/api/kube_json.py",
        "wire/api/metric_stream.py",
        "wire/api/token_audiences.py",
        "wire/prometheus/query_api.py",
        "wire/prometheus/responses.py",
        "wire/serving/rendering.py",
        "wire/serving/trust.py",
    }
    found = {
        path.relative_to(ROOT).as_posix()
        for program in ("adapter", "scaler", "wire", "kubectl_loadline")
        for path in (ROOT / program).rglob("*.py")
        if "json.Decoder(" in (text := path.read_text("utf-8")) or "json.decode(" in text.replace("kube_json.decode(", "")
    }  # fmt: skip
    assert found <= others


MISSING = "missing"


@st.composite
def documents(draw: st.DrawFn, kind: inspect.Type) -> Any:
    """A value of that type in which any optional field may be `MISSING`."""
    match kind:
        case inspect.StructType(fields=fields):
            return {
                field.encode_name: MISSING
                if not field.required and draw(st.booleans())
                else draw(documents(field.type))
                for field in fields
            }
        case inspect.UnionType(types=types):
            return draw(documents(types[0]))
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return [draw(documents(item)) for _ in range(draw(st.integers(0, 1)))]
        case inspect.DictType(value_type=value):
            return {"key": draw(documents(value))}
        case inspect.Metadata(type=of):  # kube_json.TextOfNumber
            return draw(documents(of) | st.sampled_from([5, 2.5]))
        case inspect.StrType():
            return draw(st.sampled_from(["", "text"]))
        case inspect.IntType() | inspect.FloatType():
            return draw(st.integers(0, 3))
        case inspect.BoolType():
            return draw(st.booleans())
        case inspect.DateTimeType():
            return "2026-01-02T03:04:05Z"
        case inspect.NoneType():
            return None
        case inspect.RawType():
            return {}
    raise AssertionError(f"what is a {kind}?")


def without(value: Any) -> Any:
    """The document with the missing fields left out."""
    if isinstance(value, dict):
        return {name: without(each) for name, each in value.items() if each is not MISSING}
    return [without(each) for each in value] if isinstance(value, list) else value


def with_nulls(value: Any) -> Any:
    """The document with `null` in the missing fields."""
    if isinstance(value, dict):
        return {name: None if each is MISSING else with_nulls(each) for name, each in value.items()}
    return [with_nulls(each) for each in value] if isinstance(value, list) else value


def with_zeros(value: Any, kind: inspect.Type) -> Any:
    """The document with Go's zero value in the missing fields; the zero value of a pointer is an absent field."""
    of = next(iter(kind.types)) if isinstance(kind, inspect.UnionType) else kind
    if isinstance(of, inspect.StructType):
        filled = {
            field.encode_name: zero_of(field)
            if value[field.encode_name] is MISSING
            else with_zeros(value[field.encode_name], field.type)
            for field in of.fields
        }
        return {name: each for name, each in filled.items() if each is not MISSING}
    if isinstance(of, inspect.ListType | inspect.VarTupleType):
        return [with_zeros(each, of.item_type) for each in value]
    if isinstance(of, inspect.DictType):
        return {name: with_zeros(each, of.value_type) for name, each in value.items()}
    return value


def zero_of(field: inspect.Field) -> Any:
    if field.encode_name in ("kind", "apiVersion", "window"):
        return MISSING  # they say what they are in any case, and a duration's zero is `0s`
    match field.type:
        case inspect.StructType():
            return MISSING if any(each.required for each in field.type.fields) else {}
        case inspect.ListType() | inspect.VarTupleType():
            return []
        case inspect.DictType():
            return {}
        case inspect.StrType():
            return ""
        case inspect.IntType() | inspect.FloatType():
            return 0
        case inspect.BoolType():
            return False
    return MISSING


def meaning(value: Any) -> Any:
    """What was decoded, where an empty list and none are the same."""
    if isinstance(value, msgspec.Raw):
        return None if bytes(value) in (b"", b"null") else bytes(value)
    if isinstance(value, msgspec.Struct):
        fields = {name: meaning(getattr(value, name)) for name in value.__struct_fields__}
        return {name: each for name, each in fields.items() if each not in (None, [], {})}
    if isinstance(value, dict):
        return {name: meaning(each) for name, each in value.items()}
    return [meaning(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("as_type", TYPES, ids=lambda each: f"{each.__module__}.{each.__name__}")
@settings(max_examples=25)
@given(data=st.data())
def test_a_field_that_is_absent_null_or_zero_decodes_alike(as_type, data):
    kind = inspect.type_info(as_type)
    document = data.draw(documents(kind))
    expected = meaning(kube_json.decode(msgspec.json.encode(without(document)), as_type))
    for written in (with_nulls(document), with_zeros(document, kind)):
        assert meaning(kube_json.decode(msgspec.json.encode(written), as_type)) == expected


class Inner(msgspec.Struct):
    text: str = ""


class Everything(msgspec.Struct):
    needed: int
    texts: list[str] = []
    numbers: tuple[int, ...] = ()
    structs: list[Inner] = []
    lists: list[list[str]] = []
    truths: dict[str, bool] = {}
    maybe: list[int | None] = []
    raw: list[msgspec.Raw] = []


def test_a_null_element_is_the_zero_value_as_in_encoding_json():
    body = (
        b'{"needed":1,"texts":["a",null],"numbers":[null,2],"structs":[null,{"text":null}],'
        b'"lists":[null],"truths":{"a":null},"maybe":[null],"raw":[null],"unknown":null}'
    )
    assert kube_json.decode(body, Everything) == Everything(
        needed=1,
        texts=["a", ""],
        numbers=(0, 2),
        structs=[Inner(), Inner()],
        lists=[[]],
        truths={"a": False},
        maybe=[None],
        raw=[msgspec.Raw(b"null")],
    )


def test_a_null_label_still_selects():
    selector = kube_json.decode(b'{"matchLabels":{"app":null}}', LabelSelector)
    assert selector.match_labels == {"app": ""}


@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"{}",
        b'{"needed":null}',
        b'{"needed":1,"texts":{}}',
        b'{"needed":"1"}',
        b'{"needed":1',
        b"",
        b"[" * 100_000,
        b'{"needed":1,"unknown":' + b"[" * 100_000,
    ],
)
def test_any_other_document_is_a_decode_error(body):
    with pytest.raises(msgspec.DecodeError):
        kube_json.decode(body, Everything)


@given(st.binary())
def test_no_bytes_raise_any_other_error(body):
    with contextlib.suppress(msgspec.DecodeError):
        kube_json.decode(b'{"labels":' + body, ObjectMeta)


class Item(msgspec.Struct):
    name: str = ""
    labels: dict[str, str] = {}
    count: int | None = None


class Items(msgspec.Struct):
    items: list[Item] = []


class ItemList(Items):
    kind: str = ""


def peak_bytes(body: bytes) -> int:
    """What decoding it takes beside the body, without what is kept for the next document."""
    kube_json.decode(body, Items)
    with traced_memory() as memory:
        kube_json.decode(body, Items)
        return memory.peak_bytes


def test_one_null_in_a_long_list_costs_about_as_much_as_the_list_without_it():
    """The whole list as dictionaries would take four times the memory, and ten times as long."""
    items = [b'{"name":"web-%d","labels":{"pod":"web-%d"}}' % (each, each) for each in range(5_000)]
    without_null = b'{"items":[%b]}' % b",".join(items)
    with_null = b'{"items":[%b]}' % b",".join([*items, b'{"name":null,"labels":{"pod":"x"}}'])
    assert kube_json.decode(with_null, Items).items[-1] == Item(labels={"pod": "x"})
    assert peak_bytes(with_null) < 2 * peak_bytes(without_null)


def test_what_is_not_read_stays_as_it_is_beside_a_null():
    body = b' { "items" : [ { "name" : null , "other" : 1e999 , "count" : null } , null , {"name":"a"} ] , "x" : null } '
    assert kube_json.decode(body, Items) == Items([Item(), Item(), Item("a")])


@given(st.lists(st.sampled_from(["", "x", "longer name"])), st.integers(1, 60))
def test_the_parts_of_a_list_have_all_of_its_items_and_each_has_its_other_fields(names, part_bytes):
    document = {"kind": "ItemList", "items": [{"name": each} for each in names]}
    parts = list(kube_json.split(msgspec.json.encode(document), part_bytes))
    read = [kube_json.decode(each, ItemList) for each in parts]
    assert [item.name for each in read for item in each.items] == names
    assert {each.kind for each in read} == {"ItemList"}
    assert all(len(each.items) <= 1 + part_bytes // 11 for each in read)


@pytest.mark.parametrize("body", [b"[1]", b'{"items":null}', b'{"items":{}}', b"null", b"2"])
def test_what_is_not_a_list_has_one_part(body):
    assert list(kube_json.split(body, 1)) == [body]


@pytest.mark.parametrize("body", [b"", b"{", b'{"items":[', b'{"items":[{]}', b'{"\xff":1}'])
def test_parts_of_what_is_not_json_are_a_decode_error(body):
    with pytest.raises(msgspec.DecodeError):
        list(kube_json.split(body, 1))
