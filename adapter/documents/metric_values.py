"""Samples to metric values, in the order of the requested objects.

After prometheus-adapter v0.12.0 pkg/custom-provider/provider.go and pkg/external-provider/metric_converter.go: of several
rows for one object the last one counts; objects without a row are left out; an external metric has an item per row.
Where a value is not usable, the rule's signal contract decides (`signal_contract.py`).
"""

from collections.abc import Mapping, Sequence

import msgspec

from adapter.documents.refusals import external_metric_not_found, object_metric_not_found
from adapter.documents.signal_contract import failed, is_fresh, milli, trouble, usable_samples
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
    known = _CustomFallback(
        query,
        evaluation.evaluated_at_seconds,
        now_seconds,
        last or {},
        in_list=request.name == EVERY_OBJECT,
    )
    if evaluation.partial and query.contract.on_partial is not Reaction.ACCEPT:
        found = [
            known.instead(name, query.contract.on_partial, "some stores did not answer")
            for name in names
        ]
    else:
        label = query.rows.object_label
        rows = {row.labels.get(label, ""): row for row in usable_samples(evaluation, query)}
        found = [_custom_value(name, rows.get(name), query, known, now_seconds) for name in names]
    values = tuple(value for value in found if value is not None)
    if not values and known.without_value:
        raise failed(query, known.without_value)
    if not values and (request.name != EVERY_OBJECT or query.contract.on_empty is Reaction.FAIL):
        raise object_metric_not_found(
            request, f"{query.plan.query!r} has no row for it ({query.rule})"
        )
    return CustomValues(values, tuple(known.left_out.items()))


def _custom_value(
    name: str,
    row: Sample | None,
    query: MetricQuery,
    known: "_CustomFallback",
    now_seconds: float,
) -> ObjectValue | None:
    if row is None:
        empty = query.contract.on_empty
        # One object without a row is a gap that autoscalers handle; only an empty result fails.
        if empty in (Reaction.FAIL, Reaction.OMIT):
            return None
        return known.instead(name, empty, "no row")
    if (wrong := trouble(row, query, now_seconds)) is not None:
        return known.instead(name, *wrong)
    return ObjectValue(
        name=name, value_milli=milli(row.value) or 0, timestamp_seconds=row.timestamp_seconds
    )


class _CustomFallback:
    """What is used in place of an object's value, by the contract's reaction."""

    def __init__(
        self,
        query: MetricQuery,
        evaluated_at_seconds: float,
        now_seconds: float,
        last: Mapping[str, ObjectValue],
        *,
        in_list: bool,
    ) -> None:
        """`in_list`: an object for which there is no last good value is left out, since the others have theirs."""
        self.without_value: str | None = None
        """The first object that was left out for that reason, as a sentence."""
        self.left_out: dict[str, str] = {}
        self._in_list = in_list
        self._query = query
        self._evaluated_at_seconds = evaluated_at_seconds
        self._now_seconds = now_seconds
        self._last = last

    def instead(self, name: str, reaction: Reaction, sentence: str) -> ObjectValue | None:
        """A value, or None to leave the object out; raises `StatusError` when the contract says so."""
        match reaction:
            case Reaction.ZERO:
                return ObjectValue(
                    name=name,
                    value_milli=0,
                    timestamp_seconds=self._evaluated_at_seconds,
                    substitute=True,
                )
            case Reaction.OMIT:
                self.left_out[name] = sentence
                return None
            case Reaction.LAST:
                value = self._last.get(name)
                if value is not None and is_fresh(
                    value.timestamp_seconds, self._query, self._now_seconds
                ):
                    return value
                if self._in_list:
                    # A new pod has no last good value. Autoscalers handle a pod without a value.
                    self.without_value = self.without_value or f"{sentence} for {name!r}"
                    self.left_out[name] = sentence
                    return None
        raise failed(self._query, f"{sentence} for {name!r}")


def external_values(
    evaluation: Evaluation,
    query: MetricQuery,
    request: ExternalMetricRequest,
    *,
    now_seconds: float,
    last: Sequence[ExternalValue] = (),
) -> tuple[ExternalValue, ...]:
    """A value for each row; raises `StatusError`. `last` holds the last good rows, for contracts that fall back on them."""
    rows = usable_samples(evaluation, query, scalar_allowed=True)
    contract = query.contract
    known = _ExternalFallback(query, evaluation.evaluated_at_seconds, now_seconds, last)
    if evaluation.partial and contract.on_partial is not Reaction.ACCEPT:
        return known.instead(contract.on_partial, "some stores did not answer")
    if not rows and contract.on_empty is Reaction.FAIL:
        raise external_metric_not_found(
            request, f"{query.plan.query!r} yields no row ({query.rule})"
        )
    if not rows:
        return known.instead(contract.on_empty, "no row")
    values: list[ExternalValue] = []
    for row in rows:
        wrong = trouble(row, query, now_seconds)
        if wrong is None:
            values.append(_external_value(row, milli(row.value) or 0, evaluation.kind))
        elif wrong[0] is Reaction.ZERO:
            zero = _external_value(row, 0, evaluation.kind)
            values.append(msgspec.structs.replace(zero, substitute=True))
        elif wrong[0] is not Reaction.OMIT:
            return known.instead(*wrong)
    return tuple(values)


def _external_value(row: Sample, value_milli: int, kind: ResultKind) -> ExternalValue:
    labels = None if kind is ResultKind.SCALAR else row.labels
    return ExternalValue(
        labels=labels, value_milli=value_milli, timestamp_seconds=row.timestamp_seconds
    )


class _ExternalFallback:
    """What is used in place of all rows: an autoscaler adds the rows up, so some of them would be a wrong sum."""

    def __init__(
        self,
        query: MetricQuery,
        evaluated_at_seconds: float,
        now_seconds: float,
        last: Sequence[ExternalValue],
    ) -> None:
        self._query = query
        self._evaluated_at_seconds = evaluated_at_seconds
        self._now_seconds = now_seconds
        self._last = last

    def instead(self, reaction: Reaction, sentence: str) -> tuple[ExternalValue, ...]:
        """The rows, possibly none; raises `StatusError` when the contract says so."""
        match reaction:
            case Reaction.OMIT:
                return ()
            case Reaction.ZERO:
                return (
                    ExternalValue(
                        labels=None,
                        value_milli=0,
                        timestamp_seconds=self._evaluated_at_seconds,
                        substitute=True,
                    ),
                )
            case Reaction.LAST if self._last and all(self._is_fresh(value) for value in self._last):
                return tuple(self._last)
        raise failed(self._query, sentence)

    def _is_fresh(self, value: ExternalValue) -> bool:
        return is_fresh(value.timestamp_seconds, self._query, self._now_seconds)
