"""Samples to metric values, in the order of the requested objects.

After prometheus-adapter v0.12.0 pkg/custom-provider/provider.go and pkg/external-provider/metric_converter.go: of several
rows for one object the last one counts; objects without a row are left out; an external metric has an item per row.
Where a value is not usable, the rule's signal contract decides (`signal_contract.py`).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from adapter.documents.refusals import (
    about_query,
    external_metric_not_found,
    object_metric_not_found,
)
from adapter.documents.signal_contract import (
    EMPTY,
    PARTIAL,
    Judgement,
    Outcome,
    Requested,
    Trouble,
    checked,
    failed,
    is_fresh,
    outcome_of,
    served_milli,
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
from wire.api.status import StatusError

Judged = Callable[[Sequence[Judgement]], None]
"""Takes what became of the values with which something is wrong, before the response is known: it may be an error because of them."""


def _ignored(_: Sequence[Judgement]) -> None:
    """Of a request that is served."""


class CustomValues(msgspec.Struct, frozen=True):
    """The values of objects, and the objects that are left out because their value cannot be used."""

    values: tuple[ObjectValue, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    """Name, and what is wrong with its value as a sentence. An object without any row is not among them."""


def _read_objects(
    evaluation: Evaluation, query: MetricQuery, names: Sequence[str], now_seconds: float
) -> dict[str, Sample | Trouble]:
    """The usable row of each object, or what is wrong with it; raises `StatusError` 500 when the result is not an instant vector."""
    now_seconds = evaluation.samples_now(now_seconds)
    if evaluation.partial and query.contract.on_partial is not Reaction.ACCEPT:
        return dict.fromkeys(names, PARTIAL)
    label = query.rows.object_label
    rows = {row.labels.get(label, ""): row for row in usable_samples(evaluation, query)}
    return {name: checked(rows.get(name), query.contract, now_seconds) for name in names}


def _read_rows(
    evaluation: Evaluation, query: MetricQuery, now_seconds: float
) -> list[Sample | Trouble]:
    """The same for each row of an external metric, or once if there is none."""
    now_seconds = evaluation.samples_now(now_seconds)
    rows = usable_samples(evaluation, query, scalar_allowed=True)
    if evaluation.partial and query.contract.on_partial is not Reaction.ACCEPT:
        return [PARTIAL]
    return [checked(row, query.contract, now_seconds) for row in rows] or [EMPTY]


def requested_of(request: CustomMetricRequest | ExternalMetricRequest) -> Requested:
    """What the response to a request is for."""
    if isinstance(request, ExternalMetricRequest):
        return Requested.EXTERNAL
    return Requested.LIST if request.name == EVERY_OBJECT else Requested.OBJECT


def custom_values(
    evaluation: Evaluation,
    query: MetricQuery,
    request: CustomMetricRequest,
    names: Sequence[str],
    *,
    now_seconds: float,
    last: Mapping[str, ObjectValue] | None = None,
    judged: Judged = _ignored,
) -> CustomValues:
    """A value for each object that has one; raises `StatusError`.

    `now_seconds` is by the monotonic clock. `last` holds the last good values by object name, for contracts that may fall back on them.
    """
    contract, requested = query.contract, requested_of(request)
    values: list[ObjectValue] = []
    replaced: list[Judgement] = []
    without: dict[str, Trouble] = {}
    for name, found in _read_objects(evaluation, query, names, now_seconds).items():
        if isinstance(found, Sample):
            value = ObjectValue(
                name=name,
                value_milli=served_milli(found, contract),
                timestamp_seconds=found.timestamp_seconds,
                sampled_seconds=_sampled(found, evaluation, now_seconds),
            )
            values.append(value)
            continue
        known = last.get(name) if last else None
        has_last = known is not None and is_fresh(known, query, now_seconds)
        outcome = outcome_of(found.wrong, contract, requested, has_last=has_last, others=True)
        if outcome is Outcome.ZERO:
            zero = ObjectValue(
                name=name,
                value_milli=0,
                timestamp_seconds=evaluation.evaluated_at_seconds,
                sampled_seconds=now_seconds,
                substitute=True,
            )
            values.append(zero)
        elif outcome is Outcome.LAST and known is not None:
            values.append(known)
        else:
            without[name] = found
            continue
        replaced.append(Judgement(name, found, outcome))
    # Now it is known whether the list has other values.
    left = [
        Judgement(
            name,
            each,
            outcome_of(each.wrong, contract, requested, has_last=False, others=bool(values)),
        )
        for name, each in without.items()
    ]
    if replaced or left:
        judged([*replaced, *left])
    for each in left:
        if each.outcome is Outcome.FAILED:
            raise failed(query, f"{each.trouble.sentence} for {each.name!r}")
    if any(each.outcome is Outcome.NOT_FOUND for each in left):
        raise _no_value(request, left, query)
    left_out = [(each.name, each.trouble.sentence) for each in left if each.trouble is not EMPTY]
    return CustomValues(tuple(values), tuple(left_out))


def _no_value(
    request: CustomMetricRequest, left: Sequence[Judgement], query: MetricQuery
) -> StatusError:
    """404 that says why there is none that a response could have."""
    sentences = {each.trouble.sentence for each in left if each.trouble is not EMPTY}
    before = f"{', '.join(sorted(sentences))} in the answer to " if sentences else ""
    after = f" ({query.rule})" if sentences else f" has no row for it ({query.rule})"
    refuse = partial(object_metric_not_found, request)
    return about_query(refuse, before, query.plan.query, after)


def _sampled(row: Sample, evaluation: Evaluation, now_seconds: float) -> float:
    """When a row was sampled, by the monotonic clock: not later than now, so that its value does not stay for longer."""
    return min(row.timestamp_seconds - evaluation.ahead_seconds, now_seconds)


def external_values(
    evaluation: Evaluation,
    query: MetricQuery,
    request: ExternalMetricRequest,
    *,
    now_seconds: float,
    last: Sequence[ExternalValue] = (),
    judged: Judged = _ignored,
) -> tuple[ExternalValue, ...]:
    """A value for each row; raises `StatusError`. `last` holds the last good rows, for contracts that fall back on them.

    `now_seconds` is by the monotonic clock. The last good rows replace all rows: an autoscaler adds the rows up, so some of them
    would be a wrong sum. A row that is an error goes first.
    """
    has_last = bool(last) and all(is_fresh(value, query, now_seconds) for value in last)
    values: list[ExternalValue] = []
    judgements: list[Judgement] = []
    for found in _read_rows(evaluation, query, now_seconds):
        if isinstance(found, Sample):
            found_milli = served_milli(found, query.contract)
            values.append(_external_value(found, evaluation, found_milli, now_seconds))
            continue
        outcome = outcome_of(
            found.wrong, query.contract, Requested.EXTERNAL, has_last=has_last, others=False
        )
        judgements.append(Judgement("", found, outcome))
        if outcome is Outcome.ZERO:
            zero = _external_value(found.row, evaluation, 0, now_seconds)
            values.append(msgspec.structs.replace(zero, substitute=True))
    if not judgements:
        return tuple(values)
    judged(judgements)
    for each in judgements:
        if each.outcome is Outcome.FAILED:
            raise failed(query, each.trouble.sentence)
        if each.outcome is Outcome.NOT_FOUND:
            raise about_query(
                partial(external_metric_not_found, request),
                "",
                query.plan.query,
                f" yields no row ({query.rule})",
            )
    if any(each.outcome is Outcome.LAST for each in judgements):
        return tuple(last)
    return tuple(values)


def _external_value(
    row: Sample | None, evaluation: Evaluation, value_milli: int, now_seconds: float
) -> ExternalValue:
    """The value of a row, which has no labels without one."""
    if row is None:
        return ExternalValue(
            labels=None,
            value_milli=value_milli,
            timestamp_seconds=evaluation.evaluated_at_seconds,
            sampled_seconds=now_seconds,
        )
    return ExternalValue(
        labels=None if evaluation.kind is ResultKind.SCALAR else row.labels,
        value_milli=value_milli,
        timestamp_seconds=row.timestamp_seconds,
        sampled_seconds=_sampled(row, evaluation, now_seconds),
    )
