"""What `explain` reports: how a value was computed, step by step, or where it failed and how to fix it.

Values only. They are the JSON of `--output json` and of `/debug/explain`: fields may be added, are never renamed, and
any other change gets a new `schema`. Every field is written; what is missing is null or empty.
"""

from typing import Final

import msgspec

SCHEMA: Final = "loadline.io/explanation/v1"

SHOWN_MAX: Final = 20
"""How many entries of a long list (objects, rows, values) are shown, beside their count."""


class Finding(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A reason why there is no value, or why it is another one. `reason` is for programs, the sentences for people."""

    step: str  # request, rule, objects, query, samples or value
    reason: str
    message: str
    fix: str


class ParsedRequest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The parsed path. `name` is `*` for every object that `selector` matches."""

    api: str
    resource: str = ""
    namespace: str = ""
    name: str = ""
    metric: str = ""
    selector: str = ""
    metric_selector: str = ""


class ChosenRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The entry of the configuration that serves the metric. `series` is the name of a discovered metric's series."""

    path: str
    backend: str
    series: str = ""
    template: str = ""


class MatchedObjects(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The requested objects; `names` are the first of `count`."""

    count: int
    names: tuple[str, ...]


class Row(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One sample from Prometheus. `value` is text, as in Prometheus' JSON: it may be NaN."""

    labels: dict[str, str]
    value: str
    timestamp_seconds: float


class EvaluatedQuery(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One query and its result. Only rows that belong to the request are shown; `rows_returned` counts all of them.

    `row_labels`: a row belongs to the request only if it has all of these. They name the namespace wherever the text of the query does
    not, and the object of a request for a single one; of several objects, their names decide too.
    """

    backend: str
    query: str
    result: str = ""  # vector, scalar, matrix, string; empty: no result
    rows_returned: int = 0
    rows_counted: int = 0
    rows: tuple[Row, ...] = ()
    row_labels: dict[str, str] = {}
    warnings: tuple[str, ...] = ()
    partial: bool = False


class ServedValue(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One value of the answer, as a Quantity. `of` is the object's name, or an external row's labels."""

    of: str
    value: str
    timestamp_seconds: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All steps of one request. `code` is the HTTP status of the response, `message` the message of an error.

    `ended_at` is the step that failed, and empty when none did; `findings` says why, and may also explain a successful
    response. The steps after `ended_at` are null or empty.
    """

    path: str
    code: int
    message: str = ""
    ended_at: str = ""
    request: ParsedRequest | None = None
    rule: ChosenRule | None = None
    objects: MatchedObjects | None = None
    queries: tuple[EvaluatedQuery, ...] = ()
    is_shared: bool = False
    """Whether the values are those of one query for many requests. Its text names other namespaces, and is not shown:
    the request's own query is, with the rows that this one has for the request."""
    value_count: int = 0
    values: tuple[ServedValue, ...] = ()
    findings: tuple[Finding, ...] = ()
    similar: tuple[str, ...] = ()
    """Metrics with a similar name that exist, as discovery lists them."""
    served_by: str = ""
    """The Service (`namespace/name`) that serves the metric instead of this adapter, of which the other fields are."""
    schema: str = SCHEMA

    @property
    def is_answered(self) -> bool:
        """Whether there is a value, or another program has it."""
        return bool(self.value_count or self.served_by)


LIST_SCHEMA: Final = "loadline.io/explanations/v1"


class ExplanationList(msgspec.Struct, frozen=True, kw_only=True):
    """The document of `explain --output json`: one explanation for a path, one per metric for an autoscaler."""

    target: str
    explanations: tuple[Explanation, ...]
    schema: str = LIST_SCHEMA
