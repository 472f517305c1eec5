"""Documents as JSON. The selector of a custom metric, which each item repeats, may have 131,072 characters: it is encoded once."""

from typing import Any, Final

import msgspec

from wire.api.custom_metrics import MetricValueList, MetricValueListV1beta1
from wire.api.json_pieces import DOCUMENT_BYTES_MAX, JSONPieces, in_pieces
from wire.api.meta import LabelSelector

SHARED_BYTES_MIN: Final = 1_024
"""A shorter selector costs less than the pieces between which it is shared."""

# No label has an empty name, and in a text the quotes would be escaped.
_PLACEHOLDER: Final = LabelSelector(match_labels={"": ""})
_ENCODED_PLACEHOLDER: Final = msgspec.json.encode(_PLACEHOLDER)


def encoded(document: Any, *, bytes_max: int = DOCUMENT_BYTES_MAX) -> JSONPieces:
    """As `wire.api.json_pieces.in_pieces`. All items of a list of custom metrics have the selector of the first one."""
    match document:
        case MetricValueList() if document.items:
            selector = document.items[0].metric.selector
        case MetricValueListV1beta1() if document.items:
            selector = document.items[0].selector
        case _:
            return in_pieces(document, bytes_max=bytes_max)
    repeated = msgspec.json.encode(selector)
    if len(repeated) < SHARED_BYTES_MIN:
        return in_pieces(document, bytes_max=bytes_max)
    return in_pieces(
        _with_placeholder(document),
        placeholder=_ENCODED_PLACEHOLDER,
        repeated=repeated,
        bytes_max=bytes_max,
    )


def _with_placeholder(
    document: MetricValueList | MetricValueListV1beta1,
) -> MetricValueList | MetricValueListV1beta1:
    replace = msgspec.structs.replace
    if isinstance(document, MetricValueListV1beta1):
        return replace(
            document, items=[replace(each, selector=_PLACEHOLDER) for each in document.items]
        )
    metric = replace(document.items[0].metric, selector=_PLACEHOLDER)
    return replace(document, items=[replace(each, metric=metric) for each in document.items])
