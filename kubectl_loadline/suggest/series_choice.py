"""Which recorded series an autoscaler can scale on: one that varies, and that the pods work for."""

import math
from collections.abc import Iterator, Mapping
from itertools import groupby
from statistics import correlation, median

import msgspec

from kubectl_loadline.backtest.series import Series

CPU = "cpu"
FLAT_RATIO = 1.5
LEAST_CORRELATION = 0.5
HOUR_SECONDS = 3600


class Judged(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One series. `rejected`: why it is not proposed, empty if it may be. `correlation`: with the CPU usage."""

    name: str
    rejected: str = ""
    correlation: float | None = None


def judged(series: Mapping[str, Series]) -> tuple[Judged, ...]:
    """The best first: the most correlated with CPU before CPU itself, and the rejected at the end."""
    cpu = series.get(CPU)
    found = [_judge(name, each, cpu) for name, each in series.items()]
    return tuple(
        sorted(
            found,
            key=lambda each: (bool(each.rejected), each.name == CPU, -(each.correlation or 0)),
        )
    )


def _judge(name: str, series: Series, cpu: Series | None) -> Judged:
    known = [value for value in series.values if value is not None]
    if not known or max(known) <= 0:
        return Judged(name=name, rejected="it is always 0")
    medians = hourly_medians(series)
    lowest, highest = min(medians), max(medians)
    if highest < FLAT_RATIO * lowest:
        return Judged(
            name=name,
            rejected=f"it is flat: its highest hour is {highest / lowest:.2f} times its lowest, less than {FLAT_RATIO:g}",
        )
    if cpu is None or name == CPU:
        return Judged(name=name)
    found = correlated(series, cpu)
    if found is None or found < LEAST_CORRELATION:
        shown = "unknown" if found is None else f"{found:.2f}"
        return Judged(
            name=name,
            correlation=found,
            rejected=f"it does not follow the work of the pods: its correlation with their CPU usage is {shown}, less than {LEAST_CORRELATION:g}",
        )
    return Judged(name=name, correlation=found)


def hourly_medians(series: Series) -> list[float]:
    """One for each hour that has values, at least one; of a history of less than 12 hours, for each twelfth."""
    seconds = min(HOUR_SECONDS, (series.end_unix_seconds - series.start_unix_seconds) / 12)
    return [
        median(values)
        for _, group in groupby(_known(series), key=lambda each: each[0] // seconds)
        if (values := [value for _, value in group])
    ] or [0.0]


def correlated(one: Series, other: Series) -> float | None:
    """Pearson's, of the steps at which both are known; None where it is not defined."""
    pairs = [(value, beside) for at, value in _known(one) if (beside := other.at(at)) is not None]
    if len(pairs) < 10:
        return None
    left, right = zip(*pairs, strict=True)
    if math.isclose(min(left), max(left)) or math.isclose(min(right), max(right)):
        return None
    return correlation(left, right)


def _known(series: Series) -> Iterator[tuple[int, float]]:
    for index, value in enumerate(series.values):
        if value is not None:
            yield series.start_unix_seconds + index * series.step_seconds, value
