"""The same time of earlier days, by a wall clock."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from scaler.extensions.forecast.days import IN_UTC, day_lags

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
