"""The schedules and calendars that cost the scaler most, as large as the API server accepts them."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

CALENDARS = 10
ENTRIES = 100
TIME_ZONE = "Europe/Berlin"

_HOURS = ",".join(str(hour) for hour in range(24))
_YEAR_SECONDS = 31_622_400
_YEAR_DAYS = ",".join(str(day) for day in range(-366, -322))
_WEEKDAYS = ",".join(
    f"{number}{day}" for number in (1, 2, 3, 4, -1) for day in ("MO", "TU", "WE", "TH", "FR", "SA")
)
_POSITIONS = ",".join(str(position) for position in range(1, 50))

NEVER = "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=5MO"
"""A rule without a date."""

ENTRY_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "hourly starts whose windows overlap": {"rrule": f"FREQ=DAILY;BYHOUR={_HOURS}"},
    "no start": {"rrule": f"{NEVER};INTERVAL=2", "durationSeconds": _YEAR_SECONDS},
    "a day of the year that is one of many": {
        "rrule": f"FREQ=YEARLY;INTERVAL=6;BYYEARDAY={_YEAR_DAYS}",
        "durationSeconds": _YEAR_SECONDS,
    },
    "many weekdays of a month": {
        "rrule": f"FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=31;BYDAY={_WEEKDAYS}",
        "durationSeconds": _YEAR_SECONDS,
    },
    "many positions of a week": {
        "rrule": f"FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TU,WE;BYSETPOS={_POSITIONS};BYHOUR={_HOURS}"
    },
    "many dates": {
        "rrule": "FREQ=DAILY",
        "rdates": [f"20{25 + each % 5}-11-{1 + each // 5:02}T08:00:00" for each in range(100)],
        "exdates": [f"20{25 + each % 5}-11-{1 + each // 5:02}T00:00:00" for each in range(100)],
    },
    "starts that are counted": {"rrule": "FREQ=DAILY;INTERVAL=2;COUNT=5000"},
}
"""What distinguishes the entries of each kind of calendar."""


def entries(fields: Mapping[str, Any], calendar: int = 0) -> list[dict[str, Any]]:
    """The entries of a calendar. Those of no two calendars are equal."""
    first = date(2000, 1, 1) + timedelta(days=calendar * ENTRIES)
    return [
        {
            "name": f"event-{each}",
            "start": f"{first + timedelta(days=each)}T00:00:00",
            "durationSeconds": 7200,
            "minReplicas": 1,
            **fields,
        }
        for each in range(ENTRIES)
    ]


def calendar_name(number: int) -> str:
    """The calendars of one autoscaler."""
    return f"calendar-{number}"


def schedules() -> list[dict[str, Any]]:
    """Those of one autoscaler."""
    referring = [
        {
            "name": f"s{each}",
            "calendarRef": {"kind": "ScalingCalendar", "name": calendar_name(each)},
        }
        for each in range(CALENDARS)
    ]
    every_minute = [
        {
            "name": f"c{each}",
            "schedule": "* * * * *",
            "timeZone": TIME_ZONE,
            "durationSeconds": _YEAR_SECONDS,
            "minReplicas": 1,
        }
        for each in range(40)
    ]
    return [*every_minute, *referring]
