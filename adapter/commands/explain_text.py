"""An explanation for people: one line per step, then what is wrong and how to fix it."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from adapter.diagnosis.explanation import (
    EvaluatedQuery,
    Explanation,
    ParsedRequest,
    Row,
    ServedValue,
)
from adapter.model import DEFAULT_BACKEND

LABELS_SHOWN_MAX = 8

USAGE: Final = ("cpu", "memory")
"""The queries of a request for usage are in this order."""


def text_of(title: str, explanation: Explanation, resource: str = "") -> str:
    """Ends without a newline. `resource`: the one that an autoscaler reads of a response with several."""
    if resource in USAGE:
        explanation = _only(explanation, resource)
    return "\n".join(_lines(title, explanation))


def _only(explanation: Explanation, resource: str) -> Explanation:
    return msgspec.structs.replace(
        explanation,
        queries=explanation.queries[USAGE.index(resource) :: len(USAGE)],
        values=tuple(_of_resource(each, resource) for each in explanation.values),
    )


def _of_resource(served: ServedValue, resource: str) -> ServedValue:
    """`150m` of `cpu=150m, memory=64`."""
    values = dict(each.split("=") for each in served.value.split(", "))
    return msgspec.structs.replace(served, value=values[resource])


def _lines(title: str, explanation: Explanation) -> Iterator[str]:
    guess = _guess(explanation)
    if title:
        yield title
    yield f"path     {explanation.path}"
    if explanation.served_by:
        yield f"served   by the Service {explanation.served_by}, and not by this adapter: there is no query to explain"
        yield f"         kubectl get --raw '{explanation.path}' shows the values"
        return
    if explanation.request:
        yield f"request  {_request(explanation.request)}"
    if explanation.rule:
        source = f" from the series {explanation.rule.series}" if explanation.rule.series else ""
        yield f"rule     {explanation.rule.path}{source}: {explanation.rule.template}"
    if explanation.objects and explanation.rule:
        yield f"objects  {_listed(explanation.objects.names, explanation.objects.count)}"
    for query in explanation.queries:
        yield from _query(query)
    if explanation.is_shared:
        yield "shared   answered by one query for many requests, with the same rows"
    yield from _outcome(explanation, guess)
    for finding in explanation.findings:
        yield f"{finding.reason}: {finding.message}"
        yield f"  fix: {finding.fix}"
    if explanation.similar and not guess:
        yield f"similar metrics: {', '.join(explanation.similar)}"


def _outcome(explanation: Explanation, guess: str) -> Iterator[str]:
    if explanation.ended_at == "":
        yield f"value    {explanation.value_count or 'no'} {'value' if explanation.value_count == 1 else 'values'}"
        for value in explanation.values:
            yield f"         {value.of or '(no labels)'} = {value.value}"
        yield from _more(explanation.value_count, len(explanation.values))
    else:
        yield f"failed   at the step `{explanation.ended_at}`, with {explanation.code}: {explanation.message}"
        if guess:
            yield f"         Did you mean {guess}?"


def _guess(explanation: Explanation) -> str:
    """The only similar name; empty when there are several, the name itself exists, or it is that of another resource."""
    request = explanation.request
    names = {entry.rpartition("/")[2] for entry in explanation.similar}
    if request is None or len(names) != 1 or request.metric in names:
        return ""
    described = {entry.rpartition("/")[0] for entry in explanation.similar}
    return names.pop() if request.resource in ("", *described) else ""


def _request(request: ParsedRequest) -> str:
    parts = [request.metric or "usage"]
    if request.resource:
        parts.append(f"of {'all ' if request.name == '*' else ''}{request.resource}")
    if request.name and request.name != "*":
        parts.append(request.name)
    if request.namespace:
        parts.append(f"in {request.namespace}")
    if request.selector:
        parts.append(f"where {request.selector}")
    if request.metric_selector:
        parts.append(f"for series where {request.metric_selector}")
    return f"{request.api}: {' '.join(parts)}"


def _query(query: EvaluatedQuery) -> Iterator[str]:
    backend = "" if query.backend == DEFAULT_BACKEND else f" (backend {query.backend})"
    yield f"query    {query.query}{backend}"
    if not query.result:
        return
    others = query.rows_returned - query.rows_counted
    of_others = f", and {others} of other objects" if others else ""
    yield f"samples  {query.rows_counted} {'row' if query.rows_counted == 1 else 'rows'} ({query.result}){of_others}"
    for row in query.rows:
        yield f"         {_row(row)}"
    yield from _more(query.rows_counted, len(query.rows))
    for warning in query.warnings:
        yield f"         warning: {warning}"


def _row(row: Row) -> str:
    labels = ", ".join(
        f'{name}="{value}"' for name, value in sorted(row.labels.items())[:LABELS_SHOWN_MAX]
    )
    at = datetime.fromtimestamp(row.timestamp_seconds, UTC)
    return f"{{{labels}}} {_rounded(row.value)} at {at:%Y-%m-%dT%H:%M:%SZ}"


def _rounded(value: str) -> str:
    """At most 8 significant digits of a fraction; whole numbers, NaN and histograms as they are."""
    if not re.fullmatch(r"-?[0-9]+\.[0-9]+(e[-+][0-9]+)?", value):
        return value
    number = float(value)
    return f"{number:.0f}" if 1e7 <= abs(number) < 1e15 else f"{number:.8g}"


def _listed(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names) or "none"
    return f"{shown}, ... ({count} in all)" if count > len(names) else shown


def _more(count: int, shown: int) -> Iterator[str]:
    if count > shown:
        yield f"         ... {count - shown} more"
