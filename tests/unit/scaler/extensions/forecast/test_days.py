"""The same time of earlier days, by a wall clock."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from scaler.extensions.forecast.days import IN_UTC, day_lags
from tests.unit.scaler.extensions.forecast.loads import DAY, START, learned

BERLIN = ZoneInfo("Europe/Berlin")


def minute_of(text):
    return int(datetime.fromisoformat(text).replace(tzinfo=BERLIN).timestamp() // 60)


@pytest.mark.parametrize(
    ("change", "hours"), [("2026-03-29T08:00", 23), ("2026-10-25T08:00", 25)], ids=["23", "25"]
)
def test_the_morning_of_a_day_with_another_length_is_compared_with_mornings(change, hours):
    assert day_lags(minute_of(change), BERLIN)[0] == hours * 60


def test_in_utc_every_day_has_24_hours():
    assert day_lags(minute_of("2026-03-29T08:00"), None) == IN_UTC


def offices(minute):
    """500 from 08:00 to 18:00 in Berlin, and 100 at other times."""
    local = datetime.fromtimestamp((START + minute) * 60, BERLIN)
    return 500.0 if 8 <= local.hour < 18 else 100.0


@pytest.mark.parametrize(
    ("zone", "is_ready"), [(BERLIN, True), (None, False)], ids=["Berlin", "UTC"]
)
@pytest.mark.parametrize("change", ["2025-03-30", "2025-10-26"])
def test_the_morning_after_the_clocks_change_is_met_with_a_time_zone(change, zone, is_ready):
    """Two minutes before it. In UTC, it was an hour earlier or later on the days before."""
    last = minute_of(f"{change}T07:58") - START
    forecast = learned(offices, range(last - 4 * DAY, last + 1), zone=zone)
    assert (forecast.bound > 400.0) is is_ready
