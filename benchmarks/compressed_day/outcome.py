"""PURE  The figures of a compressed day, and what must be true of them."""

import datetime
from collections.abc import Callable, Sequence

import msgspec

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY

# Of the replicas without a forecast of a normal day.
SHIFT_PERCENT_MAX = 10.0
# In compressed seconds: half of a sync period.
DELAY_SECONDS_MAX = 30.0


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
    """`shift_percent`: what the forecast added during the shift, of the replicas of a normal day."""

    parts: tuple[Part, ...]
    shift_percent: float
    delays: "Delays"


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """How late reconciles began, in compressed seconds; `of_99_percent`: none of these was later."""

    reconciles: int
    mean_seconds: float
    of_99_percent: float


def outcome_of(samples: Sequence[Sample], times: Times, delays: Delays) -> Outcome:
    """From what was recorded."""
    normal = _part("normal load", samples, 0.0, times.shifts, times.ends)
    shifted = _part("a third of the load", samples, times.shifts, times.returns, times.ends)
    returned = _part("after its return", samples, times.returns, times.ends, times.ends)
    of_normal_day = normal.replica_minutes_without / normal.minutes * MINUTES_PER_DAY
    added = shifted.replica_minutes_with - shifted.replica_minutes_without
    return Outcome(
        parts=(normal, shifted, returned),
        shift_percent=100.0 * added / of_normal_day,
        delays=delays,
    )


def failures(outcome: Outcome) -> list[str]:
    """What is not as it must be, one sentence each."""
    normal = outcome.parts[0]
    found = []
    if not normal.added_most:
        found.append("The forecast added nothing to the normal load.")
    if normal.under_with > normal.under_without:
        found.append("With the forecast, the normal load was under-provisioned for longer.")
    if outcome.shift_percent > SHIFT_PERCENT_MAX:
        found.append(
            f"During the shift, the forecast added more than {SHIFT_PERCENT_MAX:g}% of the replicas of a day."
        )
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
                f"During the shift, the forecast added {outcome.shift_percent:.1f}% of the replicas of a normal day."
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
