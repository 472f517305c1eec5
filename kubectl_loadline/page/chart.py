"""Pure: the last hours of one autoscaler on one time axis: load, demand, replicas, limits and events."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from kubectl_loadline.page.collected import Counts, Seen
from kubectl_loadline.page.events import Mark
from kubectl_loadline.page.queries import CURVES, LOAD, OF_SCALER
from kubectl_loadline.status.recorded_replicas import Series
from scaler.cluster.status import stored_memory
from wire.prometheus.query_api import RangeSeries

Values = tuple[float | None, ...]


class Load(msgspec.Struct, frozen=True):
    """The values of one metric."""

    name: str
    values: Values


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """`times` in Unix seconds; a value is None where it is not known. `basis` is one sentence."""

    start: float
    end: float
    times: tuple[float, ...] = ()
    loads: tuple[Load, ...] = ()
    demand: Values = ()
    current: Values = ()
    desired: Values = ()
    min: Values = ()
    max: Values = ()
    events: tuple[Mark, ...] = ()
    basis: str = ""


def from_prometheus(
    found: Sequence[RangeSeries], *, start: float, end: float, basis: str
) -> Chart | None:
    """The result of `history_query`; None if it has no replicas."""
    by_name = {each.metric.get("__name__", ""): each.samples for each in found}
    curves = {curve: _first(by_name, ends) for curve, ends in CURVES.items()}
    loads = {
        each.metric.get("metric", ""): each.samples
        for each in found
        if each.metric.get("__name__") == f"{OF_SCALER}{LOAD}"
    }
    if not curves["current"] and not curves["desired"]:
        return None
    return joined(curves, loads, start=start, end=end, basis=basis)


def _first(by_name: Mapping[str, Series], ends: Iterable[str]) -> Series:
    """Of the scaler before kube-state-metrics."""
    for end in ends:
        names = sorted((name for name in by_name if name.endswith(f"_{end}")), reverse=True)
        if names:
            return by_name[names[0]]
    return {}


def joined(
    curves: Mapping[str, Series],
    loads: Mapping[str, Series],
    *,
    start: float,
    end: float,
    basis: str,
) -> Chart:
    """All series on one time axis."""
    times = tuple(sorted({at for each in (*curves.values(), *loads.values()) for at in each}))

    def values(series: Series) -> Values:
        return tuple(series.get(at) for at in times)

    return Chart(
        start=start,
        end=end,
        times=times,
        loads=tuple(Load(name, values(loads[name])) for name in sorted(loads)),
        demand=values(curves["demand"]),
        current=values(curves["current"]),
        desired=values(curves["desired"]),
        min=values(curves["min"]),
        max=values(curves["max"]),
        basis=basis,
    )


def without_prometheus(
    body: bytes, seen: Sequence[Seen], *, start: float, end: float, basis: str
) -> Chart:
    """What the page has seen itself, and as the demand the recommendations that the object's own status remembers."""
    curves = {
        which: _steps(((each.since_unix_seconds, _count(each.counts, which)) for each in seen), end)
        for which in ("current", "desired", "min", "max")
    }
    demand: Series = {}
    for step in stored_memory(body).history.recommendations or ():
        demand[step.since_unix_seconds] = demand[step.until_unix_seconds] = float(step.replicas)
    curves["demand"] = {at: count for at, count in demand.items() if start <= at <= end}
    times = sorted({at for each in curves.values() for at in each})
    filled = {name: _filled(series, times) for name, series in curves.items()}
    return joined(filled, {}, start=start, end=end, basis=basis)


def _count(counts: Counts, which: str) -> int | None:
    found: int | None = getattr(counts, which)
    return found


def _steps(changes: Iterable[tuple[float, int | None]], end: float) -> Series:
    """A count from each change on, and until now: a watch reports every change."""
    found: Series = {}
    for at, count in changes:
        if count is not None:
            found[at] = float(count)
    if found:
        found[end] = found[max(found)]
    return found


def _filled(series: Series, times: Sequence[float]) -> Series:
    """At all times from its first to its last one, the value that it has there."""
    if not series:
        return series
    first, last = min(series), max(series)
    found: Series = {}
    value = series[first]
    for at in times:
        if first <= at <= last:
            value = series.get(at, value)
            found[at] = value
    return found


def on_grid(seen: Sequence[Seen], times: Sequence[float]) -> Values:
    """The current replicas at these times; None before the first one was seen."""
    found: list[float | None] = []
    position, value = 0, None
    for at in times:
        while position < len(seen) and seen[position].since_unix_seconds <= at:
            value = seen[position].counts.current
            position += 1
        found.append(None if value is None else float(value))
    return tuple(found)
