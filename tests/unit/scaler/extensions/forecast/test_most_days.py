"""What followed at this time on most of the last days is expected again, and met in full."""

from array import array

import pytest

from scaler.extensions.forecast.days import IN_UTC
from scaler.extensions.forecast.digest import digest_of, restored
from scaler.extensions.forecast.load_levels import MISSING, Levels
from scaler.extensions.forecast.most_days import on_most_days
from scaler.extensions.forecast.state import Forecast
from tests.unit.scaler.extensions.forecast.loads import DAY, HOUR, noise, states

AT = 8 * HOUR
LEAD = 5
DAYS = 9
MISSES = (2, 5, 7)


def levels_of(*, jumps, now=100.0, high=600.0, moved=(0,)):
    """Of days with and without a jump at 08:00, the last of which ends four minutes before; `moved` minutes later, in turn."""
    values = []
    for day, is_there in enumerate(jumps):
        begin = AT + moved[day % len(moved)]
        values += [high if is_there and minute >= begin else 100.0 for minute in range(DAY)]
    values += [now] * (AT - LEAD + 2)
    return Levels(values=array("f", values), end_minute=len(values) - 1)


def expected(levels):
    return on_most_days(levels, levels.end_minute, LEAD, 0.1, IN_UTC)


@pytest.mark.parametrize(
    ("jumps", "load"),
    [
        pytest.param([True], None, id="one day is too few"),
        pytest.param([True, True], 600.0, id="both days"),
        pytest.param([True, False], 100.0, id="one of two"),
        pytest.param([True, False, True], 600.0, id="two of three"),
        pytest.param([True, True, False, False], 100.0, id="half of the days"),
        pytest.param([True, True, True, False, False], 600.0, id="weekdays"),
        pytest.param([True] * 3 + [False] * 4, 100.0, id="three of seven"),
        pytest.param([True] * 9 + [False] * 4, 100.0, id="an earlier week does not count"),
    ],
)
def test_a_jump_is_expected_if_most_days_had_it(jumps, load):
    assert expected(levels_of(jumps=jumps)) == load


@pytest.mark.parametrize("moved", [(-2,), (2,), (-2, 1, 0, 2)])
def test_a_jump_may_come_two_minutes_earlier_or_later(moved):
    assert expected(levels_of(jumps=[True] * 6, moved=moved)) == 600.0


def test_a_day_that_began_higher_does_not_count():
    """It is ten minutes past, and this day has no jump: the others had theirs already."""
    levels = levels_of(jumps=[True] * 6)
    values = levels.values + array("f", [100.0] * 15)
    assert expected(Levels(values=values, end_minute=len(values) - 1)) is None


def test_a_batch_of_each_hour_that_did_not_come_in_the_last_hours_is_not_expected():
    values = array("f", [600.0 if minute % HOUR < 10 else 100.0 for minute in range(5 * DAY)])
    values += array("f", [100.0] * (AT - LEAD + 2))
    assert expected(Levels(values=values, end_minute=len(values) - 1)) is None


@pytest.mark.parametrize("minutes_earlier", range(5))
def test_after_a_restart_a_jump_is_expected_too(minutes_earlier):
    """What is stored has the mean and the peak of every five minutes, wherever the jump is in them."""
    values = levels_of(jumps=[True] * 6).values
    values = values[: len(values) - minutes_earlier]
    end = len(values) - 1
    state = Forecast(
        identity="load",
        lead_minutes=LEAD,
        levels=Levels(values=values, end_minute=end),
        offset=1.0,
    )
    found = restored(digest_of(state), end)
    load = on_most_days(found.levels, end, LEAD + minutes_earlier, 1.0, IN_UTC)
    assert load == pytest.approx(600.0, rel=0.02)


def test_on_a_quieter_day_as_much_less_is_expected():
    assert expected(levels_of(jumps=[True] * 6, now=80.0)) == pytest.approx(480.0, rel=1e-3)


def test_on_a_busier_day_no_more_is_expected():
    assert expected(levels_of(jumps=[True] * 6, now=300.0)) == 600.0


def test_days_without_values_do_not_count():
    levels = levels_of(jumps=[True, True, False, False])
    values = array("f", [MISSING] * (2 * DAY)) + levels.values[2 * DAY :]
    assert expected(Levels(values=values, end_minute=levels.end_minute)) == 100.0


def test_nothing_is_expected_while_the_load_is_unknown():
    levels = levels_of(jumps=[True] * 6)
    values = levels.values[:-10] + array("f", [MISSING] * 10)
    assert expected(Levels(values=values, end_minute=levels.end_minute)) is None


def at_eight(high, base, *, hours, misses=MISSES):
    """High from 08:00 on for so many hours, on most days."""
    times = range(8 * HOUR, (8 + hours) * HOUR)
    return lambda minute: high if minute // DAY not in misses and minute % DAY in times else base


@pytest.mark.parametrize(
    ("shape", "high", "lead"),
    [
        pytest.param(at_eight(600.0, 100.0, hours=12), 600.0, 4, id="a jump by six times"),
        pytest.param(at_eight(600.0, 200.0, hours=12), 600.0, 7, id="a jump by three times"),
        pytest.param(at_eight(400.0, 20.0, hours=1), 400.0, 7, id="a batch of 20 times the load"),
        pytest.param(
            at_eight(400.0, 0.0, hours=1, misses=()),
            400.0,
            4,
            id="a batch of each day without any other load",
        ),
    ],
)
def test_what_comes_on_most_days_is_met_in_full_after_a_week(shape, high, lead):
    """Three of nine days may not have it: it is met on the day after each of them, too."""
    met = {}
    found = states(
        lambda minute: shape(minute) * (1.0 + 0.02 * noise(minute)),
        range((DAYS - 1) * DAY + AT),
        lead=lead,
    )
    for minute, state in enumerate(found):
        if minute % DAY == AT - lead + 1:
            met[minute // DAY] = 10.0 * state.issued[-1].final
    assert min(met[day] for day in range(7, DAYS)) >= high / 1.3
