"""When it was the same time of the day before: by the wall clock of a time zone, so that days of 23 and 25 hours keep their mornings."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from scaler.extensions.forecast.features import DAYS
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY

# One more than a forecast compares with: those of yesterday are its own days.
IN_UTC = tuple(day * MINUTES_PER_DAY for day in range(1, DAYS + 2))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def day_lags(minute: int, zone: ZoneInfo | None) -> tuple[int, ...]:
    """How many minutes ago it was this time one day ago, two days ago, up to eight. `zone` is None for UTC."""
    if zone is None:
        return IN_UTC
    now = _offset_minutes(minute, zone)
    return tuple([lag - now + _offset_minutes(minute - lag, zone) for lag in IN_UTC])


def _offset_minutes(minute: int, zone: ZoneInfo) -> int:
    offset = (_EPOCH + timedelta(minutes=minute)).astimezone(zone).utcoffset()
    return 0 if offset is None else round(offset.total_seconds() / 60)
