"""Objects that the schema of a CustomResourceDefinition accepts, with the extremes of each of their fields.

The rules between fields, which are CEL, are not followed, except that a metric has the source of its type: what a program
makes of more objects than kube-apiserver accepts shows what it makes of those.
"""

import re
from typing import Any

from hypothesis import strategies as st

from tests.crd_schema import Schema

INT64_MAX = 2**63 - 1
Objects = st.SearchStrategy[Any]

# What a schema allows in a text, and a program may not expect.
TEXTS = (
    "", "0", "a", "web", "a/b", "%2F", "..", " ", "\n", "\x00", "\x7f", "é", "名前", "\U0001f600", "{}", "a=b", "!a", "-",
    "$(a)", "<b>", "Deployment", "apps/v1", "v1", "a/b/c", "x" * 63, "x" * 253, "x" * 1024,
)  # fmt: skip
QUANTITIES = (
    "1", "500m", "2Gi", "0", "0m", "0.", ".5", "+1", "1n", "0.0000000001n", "9223372036854775807", "9223372036854775808",
    "10P", "1E", "8Ei", "9" * 64, "0." + "0" * 61 + "1", "1e30", "1e-30", "1e308", "1e400", "1E-400", "0e400", "1e5000",
    "1e-5000", "1e2147483647", "1e2147483648", "1e-2147483649", "1e4294967299", "1e999999999999999999",
    "1e-999999999999999999", "1e9223372036854775807", "1e9999999999999999999", "1e" + "9" * 62, "1e" + "0" * 61 + "3",
    "12345678901234567890e900000000", "0.12345678901234567890e999999999999999999",
)  # fmt: skip
TIMES = (
    "2026-11-27T08:00:00Z", "2026-02-31T00:00:00Z", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999999-23:59", "2026-01-01T00:00:00+99:99", "1969-12-31T23:59:59Z",
)  # fmt: skip
LOCAL_TIMES = (
    "2026-11-27T08:00:00",
    "2026-02-31T00:00:00",
    "2000-01-01T00:00:00",
    "2399-12-31T23:59:59",
)
ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Apia",
    "Europe",
    "Nowhere/Else",
    "a" * 64,
)
CRON = (
    "0 8 * * 1-5",
    "@daily",
    "@HOURLY",
    "0 0 30 2 *",
    "99 * * * *",
    "* * * * mon#1",
    "*/0 * * * *",
    "1-0 * * * *",
)
RRULES = (
    "FREQ=DAILY", "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;COUNT=0", "FREQ=DAILY;INTERVAL=99999999999",
    "FREQ=DAILY;UNTIL=99991231T235959Z", "FREQ=DAILY;UNTIL=00010101T000000Z", "FREQ=DAILY;UNTIL=20261131",
)  # fmt: skip
FORMULAS = (
    "1", "a + b", "'a-b' / 2", "queue ?? 0", "1e308 * 1e308", "1 / 0", "-" * 60 + "1", "(" * 60 + "1" + ")" * 60,
    "avg(1e308, 1e308, 1e308)", "ceil(-0.5)", "clamp(1, 2, 1)", "unknown(1)", "1.2.3", "min()", "queue * 1e300 * 1e300",
)  # fmt: skip
KNOWN = (
    *TEXTS, *QUANTITIES, *TIMES, *LOCAL_TIMES, *ZONES, *CRON, *RRULES, *FORMULAS, "cpu", "memory", "nvidia.com/gpu",
)  # fmt: skip

_MAX_ITEMS = 3


def objects(schema: Schema, *, required: tuple[str, ...] = ()) -> Objects:
    """What the schema accepts; the fields that are not required are there or not. `required`: in addition."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return st.one_of(_integers(schema), _texts(schema))
    match schema["type"]:
        case "string":
            return _texts(schema)
        case "integer":
            return _integers(schema)
        case "number":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "boolean":
            return st.booleans()
        case "array":
            return _lists(schema)
        case _:
            return _structs(schema, required)


def _integers(schema: Schema) -> Objects:
    bits = 31 if schema.get("format") == "int32" else 63
    low, high = schema.get("minimum", -(2**bits)), schema.get("maximum", 2**bits - 1)
    edges = {
        low,
        min(low + 1, high),
        high,
        *({schema["default"]} & {low, high} if "default" in schema else ()),
    }
    return st.one_of(
        st.sampled_from(sorted(edges)),
        st.integers(low, min(high, low + 20)),
        st.integers(low, high),
    )


def _texts(schema: Schema) -> Objects:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength", 2_000)
    pattern = schema.get("pattern")

    def accepts(text: str) -> bool:
        return shortest <= len(text) <= longest and (
            pattern is None or re.search(_anchored(pattern), text) is not None
        )

    known = st.sampled_from([each for each in KNOWN if accepts(each)])
    if pattern is None:
        return st.one_of(known, _plain_texts(shortest, min(longest, 40)))
    return st.one_of(known, st.from_regex(_anchored(pattern)).filter(accepts))


def _plain_texts(shortest: int, longest: int) -> Objects:
    # JSON has no lone surrogates.
    return st.text(st.characters(codec="utf-8"), min_size=shortest, max_size=longest)


def _anchored(pattern: str) -> str:
    """In Go, and for kube-apiserver, `$` is the very end."""
    return pattern[:-1] + r"\Z" if pattern.endswith("$") else pattern


def _lists(schema: Schema) -> Objects:
    keys = schema.get("x-kubernetes-list-map-keys")
    is_set = schema.get("x-kubernetes-list-type") == "set"
    unique = (
        (lambda one: tuple(one[key] for key in keys))
        if keys
        else (lambda one: one)
        if is_set
        else None
    )
    most = min(schema.get("maxItems", _MAX_ITEMS), _MAX_ITEMS)
    items = schema["items"]
    sources = _sources(items)
    one = st.one_of([_with_source(items, *each) for each in sources]) if sources else objects(items)
    return st.lists(one, min_size=schema.get("minItems", 0), max_size=most, unique_by=unique)


def _sources(schema: Schema) -> list[tuple[str, str]]:
    """The types of a metric, and the field of each."""
    properties = schema.get("properties", {})
    types = properties.get("type", {}).get("enum", ())
    return [(each, field) for each in types if (field := each[0].lower() + each[1:]) in properties]


def _with_source(schema: Schema, type_: str, field: str) -> Objects:
    others = {other for _, other in _sources(schema)} - {field}
    properties = {
        name: {**each, "enum": [type_]} if name == "type" else each
        for name, each in schema["properties"].items()
        if name not in others
    }
    return objects({**schema, "properties": properties}, required=(field,))


def _structs(schema: Schema, required: tuple[str, ...]) -> Objects:
    values = schema.get("additionalProperties")
    if isinstance(values, dict):
        return st.dictionaries(_plain_texts(0, 10), objects(values), max_size=_MAX_ITEMS)
    needed = {*schema.get("required", ()), *required}
    fields = {name: objects(each) for name, each in schema.get("properties", {}).items()}
    return st.fixed_dictionaries(
        {name: each for name, each in fields.items() if name in needed},
        optional={name: each for name, each in fields.items() if name not in needed},
    )


def defaulted(value: Any, schema: Schema) -> Any:
    """The value with the defaults that kube-apiserver sets."""
    if isinstance(value, list):
        return [defaulted(each, schema["items"]) for each in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    missing = {
        name: each["default"]
        for name, each in properties.items()
        if "default" in each and name not in value
    }
    return {
        name: defaulted(each, properties.get(name, schema.get("additionalProperties", {})))
        for name, each in {**value, **missing}.items()
    }
