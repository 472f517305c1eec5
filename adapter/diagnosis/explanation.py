"""What `explain` says: how a question became an answer, step by step, or where it ended and how to mend that.

Law of this file: values only. They are the JSON of `--output json` and of `/debug/explain`; fields are added, never
renamed, and `schema` counts changes that are neither. Every field is written, absent things as null or empty.
"""

from typing import Final

import msgspec

SCHEMA: Final = "loadline.io/explanation/v1"

SHOWN_MAX: Final = 20
"""Of long lists (objects, rows, values) so many are shown, beside their count."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Something that keeps a value away, or changes it. `reason` is for programs, the sentences for people."""

    step: str  # request, rule, objects, query, samples or value
    reason: str
    message: str
    fix: str


class ParsedRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the path was understood. `name` is `*` for every object that `selector` matches."""

    api: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    metric: str = ""
    selector: str = ""
    metric_selector: str = ""


class ChosenRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Which entry of the configuration serves the metric. `series` is what a discovered metric is made of."""

    path: str
    backend: str
    series: str = ""
    template: str = ""


class MatchedObjects(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The objects that are asked for; `names` are the first of `count`."""

    count: int
    names: tuple[str, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One sample as Prometheus gave it. `value` is text, as in Prometheus' own JSON: it may be NaN."""

    labels: dict[str, str]
    value: str
    timestamp_seconds: float


class EvaluatedQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One query and what came back. Only rows that belong to the request are shown; `rows_returned` counts all."""

    backend: str
    query: str
    result: str = ""  # vector, scalar, matrix, string; empty: no answer
    rows_returned: int = 0
    rows_counted: int = 0
    rows: tuple[Row, ...] = ()
    warnings: tuple[str, ...] = ()
    partial: bool = False


class ServedValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One value of the answer, as a Quantity. `of` is the object's name, or an external row's labels."""

    of: str
    value: str
    timestamp_seconds: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole story of one question. `code` is the HTTP status of the answer, `message` that of a refusal.

    `ended_at` names the step at which it ended, and is empty when there was an answer; `findings` says why, and may
    also remark on an answer. Later steps than `ended_at` are null or empty.
    """

    path: str
    code: int
    message: str = ""
    ended_at: str = ""
    request: ParsedRequest | None = None
    rule: ChosenRule | None = None
    objects: MatchedObjects | None = None
    queries: tuple[EvaluatedQuery, ...] = ()
    value_count: int = 0
    values: tuple[ServedValue, ...] = ()
    findings: tuple[Finding, ...] = ()
    similar: tuple[str, ...] = ()
    """Metrics that can be asked for and have a like name, as discovery lists them."""
    schema: str = SCHEMA


LIST_SCHEMA: Final = "loadline.io/explanations/v1"


class ExplanationList(msgspec.Struct, frozen=True, kw_only=True):
    """The document of `explain --output json`: one explanation for a path, one per metric for an autoscaler."""

    target: str
    explanations: tuple[Explanation, ...]
    schema: str = LIST_SCHEMA
