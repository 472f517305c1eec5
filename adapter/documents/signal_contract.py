"""The signal contract: what a missing, invalid, old or partial value means. Never a silent zero.

This is decided here for every kind of metric. Numbers are converted here too, as prometheus-adapter converts them.
"""

import math

from adapter.documents.refusals import metrics_not_fetched, unexpected_result
from adapter.model import Evaluation, MetricQuery, Reaction, ResultKind, Sample
from wire.api.status import StatusError

_INT64_MAX = 2**63 - 1


def milli(value: float) -> int | None:
    """Thousandths, truncated toward zero as `int64(v * 1000)` in prometheus-adapter; None for what an int64 cannot hold.

    There the result of that conversion depends on the processor: MinInt64 on amd64.
    """
    scaled = value * 1000.0
    return int(scaled) if math.isfinite(scaled) and abs(scaled) <= _INT64_MAX else None


def usable_samples(
    evaluation: Evaluation, query: MetricQuery, *, scalar_allowed: bool = False
) -> list[Sample]:
    """The samples that belong to the request; raises `StatusError` 500 when the result is not an instant vector."""
    allowed = (ResultKind.VECTOR, ResultKind.SCALAR) if scalar_allowed else (ResultKind.VECTOR,)
    if evaluation.kind not in allowed:
        # prometheus-adapter cannot decode a string. It decodes a matrix, and refuses it only for external metrics.
        is_external_matrix = scalar_allowed and evaluation.kind is ResultKind.MATRIX
        refuse = unexpected_result if is_external_matrix else metrics_not_fetched
        raise refuse(
            f"{query.rule}: {query.plan.query!r} must yield an instant vector, but yields a {evaluation.kind.value}"
        )
    where = query.rows.where
    return [
        sample
        for sample in evaluation.samples
        if all(sample.labels.get(label, "") == value for label, value in where)
    ]


def trouble(sample: Sample, query: MetricQuery, now_seconds: float) -> tuple[Reaction, str] | None:
    """What is wrong with a sample, as (the contract's reaction, a sentence); None when it is usable."""
    contract = query.contract
    if milli(sample.value) is None:
        reaction = contract.on_nan
        if reaction is Reaction.ZERO and (sample.is_histogram or not math.isnan(sample.value)):
            # 0/0 may mean idle, an infinity or a histogram never does, and a 0 in its place would scale down. Out of a list it is
            # left out; alone, or if nothing is left, it fails.
            reaction = Reaction.LAST
        if sample.is_histogram:
            return (
                reaction,
                "the value is a native histogram, which is not a number: use histogram_quantile()",
            )
        return reaction, f"the value is {sample.value}"
    age_seconds = now_seconds - sample.timestamp_seconds
    if contract.stale_after_seconds is not None and age_seconds > contract.stale_after_seconds:
        return contract.on_stale, f"the newest sample is {age_seconds:.0f}s old"
    return None


def is_fresh(timestamp_seconds: float, query: MetricQuery, now_seconds: float) -> bool:
    """Whether a last good value of that time may still be used."""
    limit = query.contract.last_for_seconds
    return limit is not None and now_seconds - timestamp_seconds <= limit


def failed(query: MetricQuery, sentence: str) -> StatusError:
    """500: the contract says to fail."""
    return metrics_not_fetched(f"{query.rule}: {sentence} in the answer to {query.plan.query!r}")
