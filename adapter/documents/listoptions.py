"""The list options of a query string, read in apimachinery's order, so that the first error is the same as there.

After apimachinery's conversion of url.Values to ListOptions, `fields.ParseSelector` and apiserver's deadline filter.
Of all options only the label selector restricts the response of the metrics APIs, and in metrics.k8s.io the field selector.
"""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qsl

from adapter.model import FieldTerm
from wire.api import labels
from wire.api.duration import parse_duration
from wire.api.int64 import fits_int64
from wire.api.labels import Selector
from wire.api.quoting import go_quote
from wire.api.status import bad_request

Query = Sequence[tuple[str, str]]

PARAMETERS_MAX: Final = 100
"""There are about twenty of which one counts. Reading half a million takes a second."""
# They are read in 0.1 s.
SELECTOR_LENGTH_MAX: Final = 131_072
SELECTOR_COMMAS_MAX: Final = 10_000
_FALSE: Final = ("false", "0")
_KNOWN_FIELDS: Final = ("metadata.name", "metadata.namespace")
_TERM: Final = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


def parameters(query: str) -> list[tuple[str, str]]:
    """Those of a query string, in its order; raises `StatusError` 400 if there are too many."""
    if query.count("&") >= PARAMETERS_MAX:
        raise bad_request(f"the query has more than {PARAMETERS_MAX} parameters")
    return parse_qsl(query, keep_blank_values=True)


def first(query: Query, key: str) -> str:
    """The first value of a parameter, or nothing."""
    return next((value for known, value in query if known == key), "")


def is_true(query: Query, key: str) -> bool:
    """As apimachinery reads a boolean parameter: present, and neither `false` nor `0`."""
    return any(known == key for known, _ in query) and first(query, key).lower() not in _FALSE


def read_selector(query: Query, *, name: str | None = None) -> Selector:
    """The label selector; raises `StatusError` 400 for any option that cannot be read.

    `name` is the object that the path names (`*` too): a field selector must name the same one.
    """
    for number in ("timeoutSeconds", "limit"):
        _check_number(query, number)
    text = first(query, "labelSelector")
    check_size(text, "labelSelector")
    try:
        selector = labels.parse(text)
    except ValueError as e:
        raise bad_request(f"{e} (in labelSelector {text!r})") from None
    _check_fields(read_fields(query), name)
    return selector


def check_size(text: str, parameter: str) -> None:
    """Raises `StatusError` 400 for a selector that takes too long to read."""
    if len(text) > SELECTOR_LENGTH_MAX or text.count(",") > SELECTOR_COMMAS_MAX:
        raise bad_request(
            f"the {parameter} has {len(text)} characters: at most {SELECTOR_LENGTH_MAX} are read, with {SELECTOR_COMMAS_MAX} commas"
        )


def read_fields(query: Query) -> tuple[FieldTerm, ...]:
    """The field selector; raises `StatusError` 400."""
    text = first(query, "fieldSelector")
    terms = tuple(_read_term(part, text) for part in text.split(",") if part)
    for term in terms:
        if term.field not in _KNOWN_FIELDS:
            known = ", ".join(map(go_quote, _KNOWN_FIELDS))
            raise bad_request(f"{go_quote(term.field)} is not a known field selector: only {known}")
    return terms


def check_timeout(query: Query) -> None:
    """Raises `StatusError` 400 for a `timeout` that is not a duration. It is checked before everything else, even the path."""
    text = first(query, "timeout")
    try:
        parse_duration(text or "0")
    except ValueError:
        raise bad_request(
            f"invalid timeout specified in the request URL - {_duration_complaint(text)}"
        ) from None


def _duration_complaint(text: str) -> str:
    """The error of Go's time.ParseDuration."""
    # Without alternatives for the same digits: the text may be a megabyte.
    if re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)", text):
        return f"time: missing unit in duration {go_quote(text)}"
    if unit := re.match(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)([^0-9.]+)", text):
        return f"time: unknown unit {go_quote(unit[1])} in duration {go_quote(text)}"
    return f"time: invalid duration {go_quote(text)}"


def _check_number(query: Query, key: str) -> None:
    if not any(known == key for known, _ in query):
        return
    text = first(query, key)
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise bad_request(
            f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax: {key} must be a whole number"
        )
    if len(text) > 20 or not fits_int64(int(text)):
        raise bad_request(
            f"strconv.ParseInt: parsing {go_quote(text)}: value out of range: {key} is too large"
        )


def _check_fields(terms: Sequence[FieldTerm], name: str | None) -> None:
    demanded = FieldTerm(field="metadata.name", equal=True, value=name or "")
    if terms and name is not None and demanded not in terms:
        raise bad_request("fieldSelector metadata.name doesn't match requested name")


def _read_term(part: str, text: str) -> FieldTerm:
    found = _TERM.fullmatch(part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return FieldTerm(field=found[1], equal=found[2] != "!=", value=found[3])
