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

A document without them costs nothing extra: they are looked for only after msgspec has refused it.
"""

from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import inspect

from wire.api.readable_json import readable

T = TypeVar("T")

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
    try:
        return _decoded(readable(bytes(body)), as_type)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def _decoded(body: bytes | msgspec.Raw, as_type: type[T]) -> T:
    try:
        return _decoder(as_type).decode(body)
    except msgspec.ValidationError as refused:
        return _decoded_as_go(body, as_type, refused)


def _decoded_as_go(
    body: bytes | msgspec.Raw, as_type: type[T], refused: msgspec.ValidationError
) -> T:
    document = _untyped.decode(body)
    cleaned = _as_go(document, inspect.type_info(as_type))
    if cleaned == document:
        raise refused
    return _decoder(as_type).decode(msgspec.json.encode(cleaned, enc_hook=_literal))


def _decoder(as_type: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(as_type)
    if decoder is None:
        decoder = _decoders[as_type] = msgspec.json.Decoder(as_type)
    return decoder


class _Literal:
    """A number with a fraction or an exponent, as the document has it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _literal(value: _Literal) -> msgspec.Raw:
    return msgspec.Raw(value.text.encode())


_untyped: Final = msgspec.json.Decoder(float_hook=_Literal)

# One for every type in the code.
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {}


def _as_go(value: Any, kind: inspect.Type) -> Any:
    """The value as encoding/json would leave it in a variable of that type."""
    if isinstance(value, int | _Literal) and _is_text_of_number(kind):
        if isinstance(value, bool):
            return value
        return value.text if isinstance(value, _Literal) else str(value)
    if isinstance(value, dict):
        return _object_as_go(value, kind)
    if isinstance(value, list):
        of = _item_type(kind)
        return [_element(each, of) for each in value] if of else value
    return value


def _object_as_go(value: dict[str, Any], kind: inspect.Type) -> dict[str, Any]:
    for each in _alternatives(kind):
        if isinstance(each, inspect.StructType):
            fields = {field.encode_name: field.type for field in each.fields}
            return {
                name: _as_go(inner, fields[name]) if name in fields else inner
                for name, inner in value.items()
                if inner is not None or name not in fields
            }
        if isinstance(each, inspect.DictType):
            return {name: _element(inner, each.value_type) for name, inner in value.items()}
    return value


def _item_type(kind: inspect.Type) -> inspect.Type | None:
    for each in _alternatives(kind):
        if isinstance(each, inspect.ListType | inspect.VarTupleType):
            return each.item_type
    return None


def _element(value: Any, kind: inspect.Type) -> Any:
    return _zero(kind) if value is None else _as_go(value, kind)


def _zero(kind: inspect.Type) -> Any:
    """Go's zero value, or None where the type has none that JSON could say."""
    match kind.type if isinstance(kind, inspect.Metadata) else kind:
        case inspect.StructType() | inspect.DictType():
            return {}
        case inspect.ListType() | inspect.VarTupleType():
            return []
        case inspect.StrType():
            return ""
        case inspect.BoolType():
            return False
        case inspect.IntType() | inspect.FloatType():
            return 0
    return None


def _alternatives(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    return kind.types if isinstance(kind, inspect.UnionType) else (kind,)


def _is_text_of_number(kind: inspect.Type) -> bool:
    return any(
        isinstance(each, inspect.Metadata) and each.extra == _OR_NUMBER
        for each in _alternatives(kind)
    )
