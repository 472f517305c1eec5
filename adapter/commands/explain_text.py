"""An explanation for people: one line per step, then what is wrong and how to mend it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from adapter.diagnosis.explanation import EvaluatedQuery, Explanation, ParsedRequest, Row
from adapter.model import DEFAULT_BACKEND

LABELS_SHOWN_MAX = 8


def text_of(title: str, explanation: Explanation) -> str:
    """Ends without a newline."""
    return "\n".join(_lines(title, explanation))


def _lines(title: str, told: Explanation) -> Iterator[str]:
    if title:
        yield title
    yield f"path     {told.path}"
    if told.request:
        yield f"asks     {_asked_for(told.request)}"
    if told.rule:
        made_of = f" out of the series {told.rule.series}" if told.rule.series else ""
        yield f"rule     {told.rule.path}{made_of}: {told.rule.template}"
    if told.objects and told.rule:
        yield f"objects  {_listed(told.objects.names, told.objects.count)}"
    for query in told.queries:
        yield from _query(query)
    if told.ended_at == "":
        yield f"value    {told.value_count or 'no'} {'value' if told.value_count == 1 else 'values'}"
        for value in told.values:
            yield f"         {value.of or '(no labels)'} = {value.value}"
        yield from _more(told.value_count, len(told.values))
    else:
        yield f"ended    at the step `{told.ended_at}`, with {told.code}: {told.message}"
    for finding in told.findings:
        yield f"{finding.reason}: {finding.message}"
        yield f"  fix: {finding.fix}"
    if told.similar:
        yield f"similar metrics: {', '.join(told.similar)}"


def _asked_for(request: ParsedRequest) -> str:
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


def _query(asked: EvaluatedQuery) -> Iterator[str]:
    backend = "" if asked.backend == DEFAULT_BACKEND else f" (backend {asked.backend})"
    yield f"query    {asked.query}{backend}"
    if not asked.result:
        return
    others = asked.rows_returned - asked.rows_counted
    of_others = f", and {others} of other objects" if others else ""
    yield f"samples  {asked.rows_counted} {'row' if asked.rows_counted == 1 else 'rows'} ({asked.result}){of_others}"
    for row in asked.rows:
        yield f"         {_row(row)}"
    yield from _more(asked.rows_counted, len(asked.rows))
    for warning in asked.warnings:
        yield f"         warning: {warning}"


def _row(row: Row) -> str:
    labels = ", ".join(
        f'{name}="{value}"' for name, value in sorted(row.labels.items())[:LABELS_SHOWN_MAX]
    )
    at = datetime.fromtimestamp(row.timestamp_seconds, UTC).isoformat(timespec="milliseconds")
    return f"{{{labels}}} {row.value} at {at}"


def _listed(names: Sequence[str], count: int) -> str:
    shown = ", ".join(names) or "none"
    return f"{shown}, ... ({count} in all)" if count > len(names) else shown


def _more(count: int, shown: int) -> Iterator[str]:
    if count > shown:
        yield f"         ... {count - shown} more"
