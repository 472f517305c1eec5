"""Samples to metric values, in the order of the requested objects.

After prometheus-adapter v0.12.0 pkg/custom-provider/provider.go and pkg/external-provider/metric_converter.go: of several
rows for one object the last one counts; objects without a row are left out; an external metric has an item per row.
Where a value is not usable, the rule's signal contract decides (`signal_contract.py`).
"""

from collections.abc import Mapping, Sequence

import msgspec

from adapter.documents.refusals import external_metric_not_found, object_metric_not_found
from adapter.documents.signal_contract import (
    EMPTY,
    PARTIAL,
    Outcome,
    Requested,
    Trouble,
    failed,
    is_fresh,
    milli,
    outcome_of,
    trouble,
    usable_samples,
)
from adapter.model import (
    EVERY_OBJECT,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    ExternalValue,
    MetricQuery,
    ObjectValue,
    Reaction,
    ResultKind,
    Sample,
)


class CustomValues(msgspec.Struct, frozen=True):
    """The values of objects, and the objects that are left out because their value cannot be used."""

    values: tuple[ObjectValue, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Name, and what is wrong with its value as a sentence. An object without any row is not among them."""


def read_objects(
    evaluation: Evaluation, query: MetricQuery, names: Sequence[str], now_seconds: float
) -> tuple[dict[str, Sample], dict[str, Trouble]]:
    """The usable rows by object, and what is wrong with each of the other objects.

    Raises `StatusError` 500 when the result is not an instant vector.
    """
    if evaluation.partial and query.contract.on_partial is not Reaction.ACCEPT:
        return {}, dict.fromkeys(names, PARTIAL)
    label = query.rows.object_label
    found = {row.labels.get(label, ""): row for row in usable_samples(evaluation, query)}
    rows: dict[str, Sample] = {}
    troubles: dict[str, Trouble] = {}
    for name in names:
        row = found.get(name)
        wrong = EMPTY if row is None else trouble(row, query.contract, now_seconds)
        if wrong is not None:
            troubles[name] = wrong
        elif row is not None:
            rows[name] = row
    return rows, troubles


def read_rows(
    evaluation: Evaluation, query: MetricQuery, now_seconds: float
) -> list[tuple[Sample | None, Trouble | None]]:
    """The rows of an external metric with what is wrong with each; without usable rows, what is wrong. Raises as `read_objects`."""
    rows = usable_samples(evaluation, query, scalar_allowed=True)
    if evaluation.partial and query.contract.on_partial is not Reaction.ACCEPT:
        return [(None, PARTIAL)]
    if not rows:
        return [(None, EMPTY)]
    return [(row, trouble(row, query.contract, now_seconds)) for row in rows]


def custom_values(
    evaluation: Evaluation,
    query: MetricQuery,
    request: CustomMetricRequest,
    names: Sequence[str],
    *,
    now_seconds: float,
    last: Mapping[str, ObjectValue] | None = None,
) -> CustomValues:
    """A value for each object that has one; raises `StatusError`.

    `last` holds the last good values by object name, for contracts that may fall back on them.
    """
    rows, troubles = read_objects(evaluation, query, names, now_seconds)
    values: list[ObjectValue] = []
    without: dict[str, Trouble] = {}
    for name in names:
        if (row := rows.get(name)) is not None:
            values.append(
                ObjectValue(
                    name=name,
                    value_milli=milli(row.value) or 0,
                    timestamp_seconds=row.timestamp_seconds,
                )
            )
            continue
        known = last.get(name) if last else None
        has_last = known is not None and is_fresh(known.timestamp_seconds, query, now_seconds)
        match outcome_of(
            troubles[name].wrong,
            query.contract,
            requested_of(request),
            has_last=has_last,
            others=True,
        ):
            case Outcome.ZERO:
                zero_at = evaluation.evaluated_at_seconds
                values.append(
                    ObjectValue(
                        name=name, value_milli=0, timestamp_seconds=zero_at, substitute=True
                    )
                )
            case Outcome.LAST if known is not None:
                values.append(known)
            case _:
                without[name] = troubles[name]
    _check_without(without, query, request, others=bool(values))
    left_out = [(name, each.sentence) for name, each in without.items() if each is not EMPTY]
    return CustomValues(tuple(values), tuple(left_out))


def requested_of(request: CustomMetricRequest | ExternalMetricRequest) -> Requested:
    """What the response to a request is for."""
    if isinstance(request, ExternalMetricRequest):
        return Requested.EXTERNAL
    return Requested.LIST if request.name == EVERY_OBJECT else Requested.OBJECT


def _check_without(
    without: Mapping[str, Trouble],
    query: MetricQuery,
    request: CustomMetricRequest,
    *,
    others: bool,
) -> None:
    """Raises `StatusError` if an object without a value makes the response an error."""
    requested = requested_of(request)
    outcomes = [
        outcome_of(each.wrong, query.contract, requested, has_last=False, others=others)
        for each in without.values()
    ]
    for (name, each), outcome in zip(without.items(), outcomes, strict=True):
        if outcome is Outcome.FAILED:
            raise failed(query, f"{each.sentence} for {name!r}")
    if Outcome.NOT_FOUND in outcomes:
        raise object_metric_not_found(
            request, f"{query.plan.query!r} has no row for it ({query.rule})"
        )


def external_values(
    evaluation: Evaluation,
    query: MetricQuery,
    request: ExternalMetricRequest,
    *,
    now_seconds: float,
    last: Sequence[ExternalValue] = (),
) -> tuple[ExternalValue, ...]:
    """A value for each row; raises `StatusError`. `last` holds the last good rows, for contracts that fall back on them.

    They replace all rows: an autoscaler adds the rows up, so some of them would be a wrong sum.
    """
    has_last = bool(last) and all(
        is_fresh(value.timestamp_seconds, query, now_seconds) for value in last
    )
    values: list[ExternalValue] = []
    for row, wrong in read_rows(evaluation, query, now_seconds):
        if wrong is None:
            values.append(_external_value(row, evaluation))
            continue
        match outcome_of(
            wrong.wrong, query.contract, Requested.EXTERNAL, has_last=has_last, others=False
        ):
            case Outcome.ZERO:
                values.append(_external_value(row, evaluation, is_zero=True))
            case Outcome.LAST:
                return tuple(last)
            case Outcome.NOT_FOUND:
                raise external_metric_not_found(
                    request, f"{query.plan.query!r} yields no row ({query.rule})"
                )
            case Outcome.FAILED:
                raise failed(query, wrong.sentence)
    return tuple(values)


def _external_value(
    row: Sample | None, evaluation: Evaluation, *, is_zero: bool = False
) -> ExternalValue:
    """The value of a row, or a 0 in its place; without a row, a 0 without labels."""
    has_labels = row is not None and evaluation.kind is not ResultKind.SCALAR
    return ExternalValue(
        labels=row.labels if row and has_labels else None,
        value_milli=0 if is_zero or row is None else milli(row.value) or 0,
        timestamp_seconds=row.timestamp_seconds if row else evaluation.evaluated_at_seconds,
        substitute=is_zero,
    )
