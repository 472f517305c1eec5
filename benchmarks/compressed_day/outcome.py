"""PURE  The figures of a compressed day, and what must be true of them."""

import datetime
from collections.abc import Callable, Sequence

import msgspec

SUSPENDED_MINUTES_MAX = 60.0
REARMED_MINUTES_MAX = 2 * 1440.0
# In compressed seconds: half of a sync period.
DELAY_SECONDS_MAX = 30.0
SUSPENDED, RELIABLE = "ForecastSuspended", "ForecastReliable"


class Replicas(msgspec.Struct, frozen=True, kw_only=True):
    """Of a Deployment: requested by its spec, and ready."""

    requested: int
    ready: int


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One moment. `added` by the forecast; `reason` of the condition ForecastReliable."""

    unix_seconds: float
    needed: int
    with_forecast: Replicas
    without_forecast: Replicas
    added: int
    reason: str


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """An event about the forecast."""

    reason: str
    message: str
    unix_seconds: float


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """When the load shifts, returns and ends."""

    shifts: float
    returns: float
    ends: float


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the load, in minutes; `ahead_minutes`: the forecast had requested more than the other autoscaler."""

    name: str
    minutes: float
    under_with: float
    under_without: float
    replica_minutes_with: float
    replica_minutes_without: float
    ahead_minutes: float
    added_most: int


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`suspended_after` the shift and `armed_after` the return, in minutes; None if that did not happen."""

    parts: tuple[Part, ...]
    suspended_after: float | None
    suspended_because: str
    armed_after: float | None
    delays: "Delays"


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """How late reconciles began, in compressed seconds; `of_99_percent`: none of these was later."""

    reconciles: int
    mean_seconds: float
    of_99_percent: float


def outcome_of(
    samples: Sequence[Sample], events: Sequence[Event], times: Times, delays: Delays
) -> Outcome:
    """From what was recorded."""
    suspended = [
        each for each in events if each.reason == SUSPENDED and each.unix_seconds > times.shifts
    ]
    reliable = [
        each for each in events if each.reason == RELIABLE and each.unix_seconds > times.returns
    ]
    because = next(
        (
            each.reason
            for each in samples
            if suspended and each.unix_seconds > suspended[0].unix_seconds + 60
        ),
        "",
    )
    parts = (
        _part("normal load", samples, 0.0, times.shifts, times.ends),
        _part("a third of the load", samples, times.shifts, times.returns, times.ends),
        _part("after its return", samples, times.returns, times.ends, times.ends),
    )
    return Outcome(
        parts=parts,
        suspended_after=_minutes_after(suspended, times.shifts),
        suspended_because=because,
        armed_after=_minutes_after(reliable, times.returns),
        delays=delays,
    )


def failures(outcome: Outcome) -> list[str]:
    """What is not as it must be, one sentence each."""
    normal = outcome.parts[0]
    suspended, armed = outcome.suspended_after, outcome.armed_after
    found = []
    if not normal.added_most:
        found.append("The forecast added nothing to the normal load.")
    if normal.under_with > normal.under_without:
        found.append("With the forecast, the normal load was under-provisioned for longer.")
    if suspended is None or suspended > SUSPENDED_MINUTES_MAX:
        found.append(f"The forecast was not suspended within {SUSPENDED_MINUTES_MAX:g} minutes.")
    elif outcome.suspended_because != "UnusualLoad":
        found.append(f"The forecast was suspended for another reason: {outcome.suspended_because}.")
    if armed is None or armed > REARMED_MINUTES_MAX:
        found.append("The forecast did not act again after the return of the load.")
    if outcome.delays.of_99_percent > DELAY_SECONDS_MAX:
        found.append("The programs did not keep up: reconciles were late. Use a lower --speed.")
    return found


def table(outcome: Outcome) -> str:
    """For people."""
    lines = [
        "| part | minutes | under-provisioned, with and without a forecast | replica-hours | most added | more requested than without |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {each.name} | {each.minutes:.0f} | {each.under_with:.0f}, {each.under_without:.0f} minutes "
        f"| {each.replica_minutes_with / 60:.0f}, {each.replica_minutes_without / 60:.0f} "
        f"| {each.added_most} | {each.ahead_minutes:.0f} minutes |"
        for each in outcome.parts
    ]
    delays = outcome.delays
    return "\n".join(
        [
            *lines,
            "",
            (
                f"Suspended {_words(outcome.suspended_after)} after the shift ({outcome.suspended_because or 'no reason'}); "
                f"acted again {_words(outcome.armed_after)} after the return."
            ),
            (
                f"{delays.reconciles} reconciles began {delays.mean_seconds:.2f} s late in the mean, 99% of them at most "
                f"{delays.of_99_percent:.1f} s (compressed)."
            ),
        ]
    )


def at(unix_seconds: float) -> str:
    """A weekday and time in UTC."""
    return f"{datetime.datetime.fromtimestamp(unix_seconds, datetime.UTC):%a %H:%M}"


def delays_of(buckets: Sequence[tuple[float, float]], total_seconds: float) -> Delays:
    """From a histogram: upper bounds and cumulative counts, in ascending order."""
    count = buckets[-1][1] if buckets else 0.0
    bound = next((upper for upper, below in buckets if below >= 0.99 * count), 0.0)
    return Delays(
        reconciles=round(count),
        mean_seconds=total_seconds / count if count else 0.0,
        of_99_percent=bound,
    )


def _part(name: str, samples: Sequence[Sample], since: float, until: float, end: float) -> Part:
    following = [*[each.unix_seconds for each in samples[1:]], end]
    chosen = [
        (each, max(0.0, after - each.unix_seconds) / 60)
        for each, after in zip(samples, following, strict=False)
        if since <= each.unix_seconds < until
    ]

    def total(value: Callable[[Sample], float]) -> float:
        return sum(minutes * value(each) for each, minutes in chosen)

    return Part(
        name=name,
        minutes=total(lambda _: 1.0),
        under_with=total(lambda each: each.with_forecast.ready < each.needed),
        under_without=total(lambda each: each.without_forecast.ready < each.needed),
        replica_minutes_with=total(lambda each: each.with_forecast.requested),
        replica_minutes_without=total(lambda each: each.without_forecast.requested),
        ahead_minutes=total(
            lambda each: (
                each.added > 0 and each.with_forecast.requested > each.without_forecast.requested
            )
        ),
        added_most=max((each.added for each, _ in chosen if each.reason == "Reliable"), default=0),
    )


def _minutes_after(events: Sequence[Event], since: float) -> float | None:
    return (events[0].unix_seconds - since) / 60 if events else None


def _words(minutes: float | None) -> str:
    return "not" if minutes is None else f"{minutes:.0f} minutes"
