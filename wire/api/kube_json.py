"""JSON from Kubernetes and from aggregated APIs, where `null` means the same as nothing.

Go's encoding/json, and so client-go, takes `null` for an empty list, map, string, number or struct.
msgspec refuses it unless the type says `None`. One rule for every document that is read:

| JSON | is read as |
|---|---|
| a field that is `null` | the field left out: its default, or an error where it has none |
| `null` in a list or as the value of a map | `""`, `0`, `false`, `[]` or `{}`, whichever the type is |
| a field whose type admits `None` | `None` |
| `null` as the whole document | an error |
| a number where the type is `TextOfNumber` | its text in the document, with all of its digits |
| what msgspec cannot even skip, such as 1,000 levels of lists | as in `wire.api.readable_json` |

A document without them costs nothing extra: they are looked for only after msgspec has refused it, and only in
those items of a list that it refuses.
"""

from collections.abc import Collection, Iterator
from operator import is_
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import inspect

from wire.api.readable_json import shallow, with_whole_characters

T = TypeVar("T")


class _Typed(msgspec.Struct, frozen=True):
    kind: str = ""


_OR_NUMBER: Final = {"or": "number"}
TextOfNumber = Annotated[str, msgspec.Meta(extra=_OR_NUMBER)]
"""Text that may be written as a JSON number, as Go's Quantity."""


def decode(body: bytes | msgspec.Raw, as_type: type[T]) -> T:
    """The document as that type. Raises `msgspec.DecodeError` and nothing else, whatever the bytes are."""
    try:
        return _decoded(body, as_type)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    whole = with_whole_characters(bytes(body))
    try:
        return _decoded(whole, as_type)
    except (UnicodeDecodeError, RecursionError):
        pass
    try:
        return _decoded(shallow(whole), as_type)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def of_kind(body: bytes, kind: str) -> bytes:
    """The body, if it is one object of that kind. Raises `msgspec.DecodeError`.

    What is left out is read as its default, so the JSON of something else that responds would be taken for an empty object.
    """
    found = decode(body, _Typed).kind
    if found != kind:
        raise msgspec.DecodeError(f"the response is not a {kind}: its kind is {found!r}")
    return body


def _decoded(body: bytes | msgspec.Raw, as_type: type[T]) -> T:
    try:
        return _decoder(as_type).decode(body)
    except msgspec.ValidationError as refused:
        return _decoded_as_go(body, as_type, refused)


def split(body: bytes, part_bytes: int) -> Iterator[bytes]:
    """A list as several ones with items of about that size, and all other fields in each. What is not a list stays whole.

    To be decoded with pauses. Raises `msgspec.DecodeError`.
    """
    try:
        fields = _fields.decode(body)
        items = _items.decode(fields.get("items", b"[]"))
    except msgspec.ValidationError:
        yield body  # whatever is wrong with it is said by `decode`
        return
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error
    part: list[msgspec.Raw] = []
    size_bytes = 0
    for item in items:
        part.append(item)
        size_bytes += len(memoryview(item))
        if size_bytes >= part_bytes:
            yield msgspec.json.encode({**fields, "items": part})
            part, size_bytes = [], 0
    if part or len(items) == 0:
        yield msgspec.json.encode({**fields, "items": part})


def _decoded_as_go(
    body: bytes | msgspec.Raw, as_type: type[T], refused: msgspec.ValidationError
) -> T:
    document = _whole.decode(body)
    cleaned = _as_go(document, _kind(as_type))
    if cleaned is document:
        raise refused
    return _decoder(as_type).decode(cleaned)


def _kind(as_type: type[Any]) -> inspect.Type:
    kind = _kinds.get(as_type)
    if kind is None:
        kind = _kinds[as_type] = inspect.type_info(as_type)
    return kind


def _decoder(as_type: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(as_type)
    if decoder is None:
        decoder = _decoders[as_type] = msgspec.json.Decoder(as_type)
    return decoder


# Values that are not read stay as they are in the document, with all digits of a number.
_whole: Final = msgspec.json.Decoder(msgspec.Raw)
_fields: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items: Final = msgspec.json.Decoder(list[msgspec.Raw])

# One for every type in the code.
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}
_kinds: dict[type[Any], inspect.Type] = {}

_OF_NUMBER: Final = frozenset(b"-0123456789")


def _as_go(value: msgspec.Raw, kind: inspect.Type) -> msgspec.Raw:
    """The value as encoding/json would leave it in a variable of that type; the same object if there is nothing to change."""
    first = memoryview(value)[0]
    if first in _OF_NUMBER and _is_text_of_number(kind):
        return msgspec.Raw(b'"%b"' % bytes(memoryview(value)))
    if first == ord("{"):
        return _object_as_go(value, kind)
    if first == ord("["):
        return _list_as_go(value, kind)
    return value


def _object_as_go(value: msgspec.Raw, kind: inspect.Type) -> msgspec.Raw:
    for each in _alternatives(kind):
        if isinstance(each, inspect.StructType):
            return value if _is_readable(value, each.cls) else _struct_as_go(value, each)
        if isinstance(each, inspect.DictType):
            old = _fields.decode(value)
            new = {name: _element(inner, each.value_type) for name, inner in old.items()}
            return _changed(value, old.values(), new.values(), new)
    return value


def _struct_as_go(value: msgspec.Raw, kind: inspect.StructType) -> msgspec.Raw:
    types = {field.encode_name: field.type for field in kind.fields}
    old = _fields.decode(value)
    new = {
        name: _as_go(inner, types[name]) if name in types else inner
        for name, inner in old.items()
        if name not in types or not _is_null(inner)
    }
    return _changed(value, old.values(), new.values(), new)


def _list_as_go(value: msgspec.Raw, kind: inspect.Type) -> msgspec.Raw:
    for each in _alternatives(kind):
        if isinstance(each, inspect.ListType | inspect.VarTupleType):
            old = _items.decode(value)
            new = [_element(inner, each.item_type) for inner in old]
            return _changed(value, old, new, new)
    return value


def _changed(
    value: msgspec.Raw,
    old: Collection[msgspec.Raw],
    new: Collection[msgspec.Raw],
    parts: dict[str, msgspec.Raw] | list[msgspec.Raw],
) -> msgspec.Raw:
    if len(old) == len(new) and all(map(is_, old, new)):
        return value
    return msgspec.Raw(msgspec.json.encode(parts))


def _is_readable(value: msgspec.Raw, as_type: type[Any]) -> bool:
    try:
        _decoder(as_type).decode(value)
    except msgspec.ValidationError:
        return False
    return True


def _is_null(value: msgspec.Raw) -> bool:
    return memoryview(value)[0] == ord("n")


def _element(value: msgspec.Raw, kind: inspect.Type) -> msgspec.Raw:
    return msgspec.Raw(_zero(kind)) if _is_null(value) else _as_go(value, kind)


def _zero(kind: inspect.Type) -> bytes:
    """Go's zero value, or null where the type has none that JSON could say."""
    match kind.type if isinstance(kind, inspect.Metadata) else kind:
        case inspect.StructType() | inspect.DictType():
            return b"{}"
        case inspect.ListType() | inspect.VarTupleType():
            return b"[]"
        case inspect.StrType():
            return b'""'
        case inspect.BoolType():
            return b"false"
        case inspect.IntType() | inspect.FloatType():
            return b"0"
    return b"null"


def _alternatives(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _is_text_of_number(kind: inspect.Type) -> bool:
    return any(
        isinstance(each, inspect.Metadata) and each.extra == _OR_NUMBER
        for each in _alternatives(kind)
    )
