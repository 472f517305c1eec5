"""The signal contract: what a missing, invalid, old or partial value means. Never a silent zero.

This is decided here for every kind of metric. Numbers are converted here too, as prometheus-adapter converts them.
"""

import enum
import math
from typing import Final

import msgspec

from adapter.documents.refusals import about_query, metrics_not_fetched, unexpected_result
from adapter.model import (
    Evaluation,
    ExternalValue,
    MetricQuery,
    ObjectValue,
    Reaction,
    ResultKind,
    Sample,
    SignalContract,
)
from wire.api.int64 import INT64_MAX
from wire.api.status import StatusError


def milli(value: float) -> int | None:
    """Thousandths, truncated toward zero as `int64(v * 1000)` in prometheus-adapter; None for what an int64 cannot hold.

    There the result of that conversion depends on the processor: MinInt64 on amd64.
    """
    scaled = value * 1000.0
    return int(scaled) if math.isfinite(scaled) and abs(scaled) <= INT64_MAX else None


def served_milli(row: Sample, contract: SignalContract) -> int:
    """The value of a row that was `checked`."""
    found = milli(row.value) or 0
    return 1 if contract.keeps_positive and not found and row.value > 0 else found


def usable_samples(
    evaluation: Evaluation, query: MetricQuery, *, scalar_allowed: bool = False
) -> list[Sample]:
    """The samples that belong to the request; raises `StatusError` 500 when the result is not an instant vector."""
    allowed = (ResultKind.VECTOR, ResultKind.SCALAR) if scalar_allowed else (ResultKind.VECTOR,)
    if evaluation.kind not in allowed:
        # prometheus-adapter cannot decode a string. It decodes a matrix, and refuses it only for external metrics.
        is_external_matrix = scalar_allowed and evaluation.kind is ResultKind.MATRIX
        refuse = unexpected_result if is_external_matrix else metrics_not_fetched
        raise about_query(
            refuse,
            f"{query.rule}: ",
            query.plan.query,
            f" must yield an instant vector, but yields a {evaluation.kind.value}",
        )
    where = query.rows.where
    return [
        sample
        for sample in evaluation.samples
        if all(sample.labels.get(label, "") == value for label, value in where)
    ]


class Wrong(enum.Enum):
    """What is wrong with a value."""

    PARTIAL = enum.auto()  # some stores of the backend did not answer
    EMPTY = enum.auto()  # no row
    NAN = enum.auto()
    NOT_FINITE = enum.auto()  # infinite, more than an int64 holds, or a native histogram
    STALE = enum.auto()


class Requested(enum.Enum):
    """What a response is for."""

    LIST = enum.auto()  # every object that a selector matches
    OBJECT = enum.auto()
    EXTERNAL = enum.auto()


class Outcome(enum.Enum):
    """What the response has where something is wrong with a value."""

    USED = enum.auto()  # the value, as if nothing were wrong
    ZERO = enum.auto()
    LAST = enum.auto()  # the last good value; of an external metric, all last good rows
    LEFT_OUT = enum.auto()
    NOT_FOUND = enum.auto()  # the response is a 404
    FAILED = enum.auto()  # the response is a 500


def outcome_of(
    wrong: Wrong,
    contract: SignalContract,
    requested: Requested,
    *,
    has_last: bool,
    others: bool,
) -> Outcome:
    """What becomes of a value by the contract: the one decision, for serving and for explaining.

    `has_last`: there is a last good value that is recent enough. `others`: other objects of the list have a value.
    """
    match _reaction(wrong, contract):
        case Reaction.ACCEPT if wrong is Wrong.PARTIAL:
            return Outcome.USED
        case Reaction.ZERO:
            return Outcome.ZERO
        case Reaction.LAST if has_last:
            return Outcome.LAST
        case Reaction.LAST if requested is Requested.LIST and others:
            # A new pod has no last good value. Autoscalers handle a pod without a value.
            return Outcome.LEFT_OUT
        case Reaction.FAIL if wrong is Wrong.EMPTY:
            # One object of a list without a row is a gap that autoscalers handle; only an empty result fails.
            is_gap = requested is Requested.LIST and others
            return Outcome.LEFT_OUT if is_gap else Outcome.NOT_FOUND
        case Reaction.OMIT:
            may_be_empty = others or contract.on_empty is not Reaction.FAIL
            if requested is Requested.EXTERNAL or (requested is Requested.LIST and may_be_empty):
                return Outcome.LEFT_OUT
            return Outcome.NOT_FOUND
    return Outcome.FAILED


def _reaction(wrong: Wrong, contract: SignalContract) -> Reaction:
    match wrong:
        case Wrong.PARTIAL:
            return contract.on_partial
        case Wrong.EMPTY:
            return contract.on_empty
        case Wrong.STALE:
            return contract.on_stale
        case Wrong.NOT_FINITE if contract.on_nan is Reaction.ZERO:
            # 0/0 may mean idle, an infinity or a histogram never does, and a 0 in its place would scale down. Out of a list it is
            # left out; alone, or if nothing is left, it fails.
            return Reaction.LAST
    return contract.on_nan


class Trouble(msgspec.Struct, frozen=True):
    """What is wrong, also as a sentence, and with which row."""

    wrong: Wrong
    sentence: str
    row: Sample | None = None


class Judgement(msgspec.Struct, frozen=True):
    """What a response has in place of a value with which something is wrong. Rows of external metrics have no `name`."""

    name: str
    trouble: Trouble
    outcome: Outcome


PARTIAL: Final = Trouble(Wrong.PARTIAL, "some stores did not answer")
EMPTY: Final = Trouble(Wrong.EMPTY, "no row")


def checked(row: Sample | None, contract: SignalContract, now_seconds: float) -> Sample | Trouble:
    """The row if its value is usable, or what is wrong with it. `now_seconds`: by the clock of Prometheus, as the time of the row."""
    if row is None:
        return EMPTY
    if row.is_histogram:
        sentence = (
            "the value is a native histogram, which is not a number: use histogram_quantile()"
        )
        return Trouble(Wrong.NOT_FINITE, sentence, row)
    if milli(row.value) is None:
        wrong = Wrong.NAN if math.isnan(row.value) else Wrong.NOT_FINITE
        return Trouble(wrong, f"the value is {row.value}", row)
    age_seconds = now_seconds - row.timestamp_seconds
    if contract.stale_after_seconds is not None and age_seconds > contract.stale_after_seconds:
        return Trouble(Wrong.STALE, f"the newest sample is {age_seconds:.0f}s old", row)
    return row


def is_fresh(value: ObjectValue | ExternalValue, query: MetricQuery, now_seconds: float) -> bool:
    """Whether a last good value may still be used. `now_seconds`: by the monotonic clock."""
    limit = query.contract.last_for_seconds
    return limit is not None and now_seconds - value.sampled_seconds <= limit


def failed(query: MetricQuery, sentence: str) -> StatusError:
    """500: the contract says to fail."""
    before = f"{query.rule}: {sentence} in the answer to "
    return about_query(metrics_not_fetched, before, query.plan.query, "")
