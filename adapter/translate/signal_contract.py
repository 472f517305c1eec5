"""The signal contract: what a missing, senseless, old or partial value comes to. Never a silent zero.

One place decides, for every kind of metric; the numbers themselves are converted here as the peer converts them.
"""

import math

from adapter.model import Evaluation, MetricQuery, Reaction, ResultKind, Sample
from adapter.translate.refusals import metrics_not_fetched, unexpected_result
from wire.status import StatusError

_INT64_MAX = 2**63 - 1


def milli(value: float) -> int | None:
    """Thousandths, cut off toward zero as the peer's `int64(v * 1000)`; None for what an int64 cannot hold.

    There the peer's conversion is the processor's choice: MinInt64 on amd64.
    """
    scaled = value * 1000.0
    return int(scaled) if math.isfinite(scaled) and abs(scaled) <= _INT64_MAX else None


def usable_samples(
    evaluation: Evaluation, question: MetricQuery, *, scalar_allowed: bool = False
) -> list[Sample]:
    """The samples that are this question's; raises `StatusError` 500 when the answer is no instant vector."""
    allowed = (ResultKind.VECTOR, ResultKind.SCALAR) if scalar_allowed else (ResultKind.VECTOR,)
    if evaluation.kind not in allowed:
        # The peer cannot even decode a string; a matrix it can, and only its converter of external metrics says so.
        is_external_matrix = scalar_allowed and evaluation.kind is ResultKind.MATRIX
        refuse = unexpected_result if is_external_matrix else metrics_not_fetched
        raise refuse(
            f"{question.rule}: {question.plan.query!r} must yield an instant vector, and yields a {evaluation.kind.value}"
        )
    where = question.rows.where
    return [
        sample
        for sample in evaluation.samples
        if all(sample.labels.get(label, "") == value for label, value in where)
    ]


def trouble(
    sample: Sample, question: MetricQuery, now_seconds: float
) -> tuple[Reaction, str] | None:
    """What is wrong with a sample, as (the contract's reaction, a sentence); None when it can be used."""
    contract = question.contract
    if milli(sample.value) is None:
        reaction = contract.on_nan
        if reaction is Reaction.ZERO and not math.isnan(sample.value):
            reaction = Reaction.FAIL  # 0/0 may mean idle; an infinity never does
        return reaction, f"the value is {sample.value}"
    age_seconds = now_seconds - sample.timestamp_seconds
    if contract.stale_after_seconds is not None and age_seconds > contract.stale_after_seconds:
        return contract.on_stale, f"the newest sample is {age_seconds:.0f}s old"
    return None


def is_fresh(timestamp_seconds: float, question: MetricQuery, now_seconds: float) -> bool:
    """Whether a last good value of that time may still stand in."""
    limit = question.contract.last_for_seconds
    return limit is not None and now_seconds - timestamp_seconds <= limit


def failed(question: MetricQuery, sentence: str) -> StatusError:
    """500: the contract says to fail."""
    return metrics_not_fetched(
        f"{question.rule}: {sentence} in the answer to {question.plan.query!r}"
    )
