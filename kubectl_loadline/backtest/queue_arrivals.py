"""What arrives at a queue, from its recorded length: its change, and what the ready pods completed meanwhile."""

import msgspec

from kubectl_loadline.backtest.series import Series

_LEAST_SATURATED_STEPS = 10


class Arrivals(msgspec.Struct, frozen=True, kw_only=True):
    """Per second; and how much a ready pod completes per second while the queue is not empty, and how that is known."""

    per_second: Series
    service_rate: float
    rate_from: str


def arrivals_of(
    length: Series, ready: Series, *, completions: Series | None, service_rate: float | None
) -> Arrivals | str:
    """The arrivals, or why they are unknown.

    While the queue is empty and completions are not recorded, no more can have arrived than the pods could complete: then
    the last known rate is continued, up to that.
    """
    rate_from = "as given"
    if service_rate is None:
        if completions is None:
            return (
                "set what a replica completes per second with --service-rate NAME=RATE, or the query of the "
                "completions per second with --query NAME/completions=PROMQL"
            )
        service_rate, rate_from = (
            _service_rate(length, ready, completions),
            "95th percentile of the completions",
        )
        if service_rate is None:
            return "it is empty most of the time, so what a replica can complete is unknown: set --service-rate NAME=RATE"
    step = length.step_seconds
    values: list[float | None] = []
    last = 0.0
    for index, (here, following) in enumerate(zip(length.values, length.values[1:], strict=False)):
        at = length.start_unix_seconds + index * step
        count = ready.at(at)
        if here is None or following is None or count is None:
            values.append(None)
            continue
        completed = None if completions is None else completions.at(at + step)
        if completed is None and following <= 0.0:
            last = min(last, count * service_rate)
        else:
            finished = count * service_rate if completed is None else completed
            last = max(0.0, (following - here) / step + finished)
        values.append(last)
    series = Series(
        start_unix_seconds=length.start_unix_seconds, step_seconds=step, values=tuple(values)
    )
    return Arrivals(per_second=series, service_rate=service_rate, rate_from=rate_from)


def _service_rate(length: Series, ready: Series, completions: Series) -> float | None:
    rates = []
    for index, value in enumerate(length.values):
        at = length.start_unix_seconds + index * length.step_seconds
        completed, count = completions.at(at), ready.at(at)
        if value and completed is not None and count:
            rates.append(completed / count)
    if len(rates) < _LEAST_SATURATED_STEPS:
        return None
    return sorted(rates)[int(len(rates) * 0.95)] or None
