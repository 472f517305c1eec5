"""Scenarios that begin at a date of the seed, often just before clocks change or a year ends, with schedules in local time.

When a schedule begins is computed here from its local time as docs/loadautoscaler.md defines it, by a search over the
instants that a clock on a wall shows, and not as the scaler does.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import msgspec

from tests.simulation.field_scenarios import with_fields
from tests.simulation.fields import LocalStart, Window
from tests.simulation.scenario import AutoscalerPlan, Scenario

# Clocks that change by an hour or half an hour, at midnight, in the other hemisphere, for Ramadan, with a winter time that
# is the exception, and never.
TIME_ZONES = (
    "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Casablanca", "Europe/Dublin",
    "America/St_Johns", "Asia/Beirut", "Asia/Kathmandu", "UTC",
)  # fmt: skip
FIRST_YEAR, LAST_YEAR = 2024, 2035
HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS
# No daily schedule is longer, so that only these days before the beginning of the world count.
DAYS_AROUND = 2


def with_dates(seed: int, only: str = "") -> Scenario:
    """The scenario of a seed with fields, or `only` this one, at another date; each autoscaler has a schedule in local time."""
    rng = random.Random(f"dates {seed}")
    scenario = with_fields(seed, only)
    zone = rng.choice(TIME_ZONES)
    change = _change(rng, ZoneInfo(zone))
    epoch = int(change - rng.uniform(60, scenario.calm_at))
    # Schedules are chosen around the change, as far as it is within the time of the faults.
    plans = tuple(
        _with_local_window(rng, plan, zone, epoch, change) for plan in scenario.autoscalers
    )
    return msgspec.structs.replace(scenario, autoscalers=plans, epoch_unix_seconds=epoch)


def starts(local: LocalStart, around: float, *, is_cron: bool) -> list[int]:
    """When a schedule with this local time begins, in Unix seconds; a daily one on the days around a moment.

    `is_cron`: a local time that occurs twice is a begin both times, and the first time otherwise.
    """
    zone, first = ZoneInfo(local.time_zone), datetime.fromisoformat(local.start)
    days = [first]
    if local.is_daily:
        today = datetime.fromtimestamp(around, zone).date()
        shifts = range(-DAYS_AROUND, DAYS_AROUND + 1)
        days = [datetime.combine(today + timedelta(days=each), first.time()) for each in shifts]
        days = [each for each in days if each >= first or is_cron]
    found: list[int] = []
    for each in days:
        instants = list(_instants(each, zone))
        found += instants if is_cron else instants[:1]
    return sorted(set(found))


def _instants(local: datetime, zone: ZoneInfo) -> Iterator[int]:
    """When clocks show this local time; if they skip it, when they would show it without the change."""
    as_utc = int(local.replace(tzinfo=UTC).timestamp())
    before, after = (_offset(as_utc + side * DAY_SECONDS, zone) for side in (-1, 1))
    shown = [as_utc - each for each in sorted({before, after}, reverse=True)]
    real = [
        each for each in shown if datetime.fromtimestamp(each, zone).replace(tzinfo=None) == local
    ]
    yield from real or [as_utc - before]


def _offset(unix_seconds: float, zone: ZoneInfo) -> int:
    offset = datetime.fromtimestamp(unix_seconds, zone).utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


def _change(rng: random.Random, zone: ZoneInfo) -> int:
    """A change of clocks, the end of a year or of a February, or any moment. Unix seconds."""
    year = rng.randint(FIRST_YEAR, LAST_YEAR)
    changes = _clock_changes(zone.key, year)
    kinds = ["clocks"] * 6 + ["year"] * 2 + ["february", "any"]
    match rng.choice(kinds):
        case "clocks" if changes:
            return rng.choice(changes)
        case "february":
            return int(datetime(year, 3, 1, tzinfo=zone).timestamp())
        case "any":
            return int(datetime(year, 1, 1, tzinfo=zone).timestamp()) + rng.randrange(
                365 * DAY_SECONDS
            )
    return int(datetime(year, 1, 1, tzinfo=zone).timestamp())


@cache
def _clock_changes(zone_name: str, year: int) -> Sequence[int]:
    """Those of a year, found hour by hour."""
    zone = ZoneInfo(zone_name)
    first = int(datetime(year, 1, 1, tzinfo=UTC).timestamp())
    hours = range(first, first + 366 * DAY_SECONDS, HOUR_SECONDS)
    # Of Lord Howe, they are at half past an hour of UTC.
    near = [each for each in hours if _offset(each, zone) != _offset(each + HOUR_SECONDS, zone)]
    found = []
    for hour in near:
        minutes = range(hour, hour + HOUR_SECONDS, 60)
        found.append(
            next(each + 60 for each in minutes if _offset(each, zone) != _offset(each + 60, zone))
        )
    return found


def _with_local_window(
    rng: random.Random, plan: AutoscalerPlan, zone: str, epoch: int, change: int
) -> AutoscalerPlan:
    """The plan with a schedule that begins or ends in the time of the world, by a local time near the change."""
    low = rng.choice((1, 3, plan.max_replicas, plan.max_replicas + 5))
    high = low + rng.choice((0, 2, 10))
    is_daily, is_by_calendar = rng.random() < 0.5, rng.random() < 0.4
    seconds = _duration(rng)
    local = LocalStart(
        time_zone=zone, start=_local_begin(rng, ZoneInfo(zone), change, seconds, is_daily=is_daily),
        is_daily=is_daily,
    )  # fmt: skip
    found = [
        each - epoch for each in starts(local, change, is_cron=is_daily and not is_by_calendar)
    ]
    window = Window(
        begin=found[0], more_begins=tuple(found[1:]), seconds=seconds,
        min_replicas=low, max_replicas=high, local=local,
    )  # fmt: skip
    fields = msgspec.structs.replace(plan.fields, window=window, is_by_calendar=is_by_calendar)
    return msgspec.structs.replace(plan, fields=fields)


def _duration(rng: random.Random) -> int:
    """Minutes, an hour or a day more or less, each with a few seconds."""
    whole = rng.choice((0, 0, HOUR_SECONDS, 23 * HOUR_SECONDS, DAY_SECONDS, 25 * HOUR_SECONDS))
    return whole + rng.choice((30, 60, 90, 150, 240))


def _local_begin(
    rng: random.Random, zone: ZoneInfo, change: int, seconds: int, *, is_daily: bool
) -> str:
    """A local time: near the change, skipped or repeated by it, or so long before that the schedule ends near the change."""
    moment = change + rng.choice((-120, -60, 0, 60, 120))
    gained = _offset(change, zone) - _offset(change - 1, zone)
    local = datetime.fromtimestamp(moment, zone).replace(tzinfo=None)
    match rng.choice(("near", "near", "skipped or repeated", "ends")):
        case "skipped or repeated":
            # What clocks would show without the change.
            shown = change + abs(moment - change) + _offset(change - 1, zone)
            local = datetime.fromtimestamp(shown, UTC).replace(tzinfo=None)
            if gained < 0:
                local -= timedelta(seconds=rng.choice((0, -gained)))
        case "ends":
            local = datetime.fromtimestamp(moment - seconds, zone).replace(tzinfo=None)
    if is_daily:
        local = local.replace(second=0)
        local -= timedelta(days=rng.choice((1, 2, 8)))
    return local.isoformat()
