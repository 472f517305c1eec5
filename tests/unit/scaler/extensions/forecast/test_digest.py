"""What is stored of a forecast: about 10 KB, from which it continues."""

import base64
import math
import zlib
from array import array

import msgspec
import pytest

from scaler.extensions.forecast.choice import SHORTAGE_FROM, Shares
from scaler.extensions.forecast.digest import AHEAD_MINUTES_MAX, digest_of, restored
from scaler.extensions.forecast.learner import observed
from scaler.extensions.forecast.levels import KEPT_MINUTES
from scaler.extensions.forecast.outcomes import INTERVAL_MINUTES, INTERVALS_MAX, with_minutes
from scaler.extensions.forecast.quantiles import STEADY_START, WEIGHTS
from scaler.extensions.forecast.state import Forecast, Outcomes, Sums
from tests.unit.scaler.extensions.forecast.loads import (
    BEFORE_OPENING,
    DAY,
    HOUR,
    START,
    before_opening,
    learned,
    observation,
    opening_hours,
)

# A few minutes before a jump, which begins with five minutes that are one in the digest.
LAST = 8 * DAY + 8 * HOUR - 6


@pytest.fixture(scope="module")
def state():
    """After eight days."""
    return learned(opening_hours, range(BEFORE_OPENING + 1, LAST + 1), after=before_opening())


def next_minutes(state, count=10):
    wanted = []
    for minute in range(LAST + 1, LAST + 1 + count):
        state = observed(state, observation(START + minute, opening_hours(minute)))
        wanted.append(state.wanted)
    return wanted


def test_eight_days_are_about_10_kilobytes(state):
    assert 2_000 < len(digest_of(state)) < 12_000


def test_a_digest_has_only_as_many_minutes_as_every_build_reads(state):
    """The hour beyond eight days is for the examples of the day before."""
    longer = learned(opening_hours, range(LAST + 1, LAST + DAY), after=state)
    assert len(longer.levels) == KEPT_MINUTES
    assert len(restored(digest_of(longer), START + LAST + DAY).levels) <= 8 * DAY + 5


def test_the_margin_is_stored(state):
    state = msgspec.structs.replace(state, margin=0.25)
    assert restored(digest_of(state), START + LAST + 1).margin == 0.25


def test_the_shares_are_stored(state):
    shares = Shares(model=0.25, days=0.5)
    text = digest_of(msgspec.structs.replace(state, shares=shares))
    assert restored(text, START + LAST + 1).shares == shares


def test_a_digest_without_the_share_of_days_continues_with_nothing_of_it(state):
    found = restored(packed(fields_of(state)[:20]), START + LAST + 1)
    assert found.shares == msgspec.structs.replace(state.shares, days=0.0)


def test_a_restored_forecast_goes_on_with_almost_the_same_replicas(state):
    found = restored(digest_of(state), START + LAST + 1)
    assert next_minutes(found) == pytest.approx(next_minutes(state), abs=1)


@pytest.mark.parametrize("packed_fields", [17, 16], ids=["with shares", "without shares"])
def test_a_digest_of_an_earlier_version_continues_with_what_most_days_had(state, packed_fields):
    text = packed(fields_of(state)[:packed_fields])
    found = restored(text, START + LAST + 1)
    assert found.model == STEADY_START
    assert found.levels == restored(digest_of(state), START + LAST + 1).levels
    assert 10 * next_minutes(found)[-1] >= 300 / SHORTAGE_FROM


def test_a_restored_forecast_keeps_its_verdict_and_its_outcomes(state):
    found = restored(digest_of(state), START + LAST + 1)
    assert found.verdict == state.verdict
    assert found.outcomes.day.added == pytest.approx(state.outcomes.day.added, rel=1e-3)
    assert found.identity == state.identity


def test_a_new_forecast_survives_too():
    found = restored(digest_of(Forecast(identity="load", lead_minutes=5)), START)
    assert found == msgspec.structs.replace(found, identity="load", lead_minutes=5)
    assert len(found.levels) == 0


def intervals(count, *, minutes):
    return array("f", [1.0, 0.0, 0.0, minutes] * count).tobytes()


def test_a_day_of_the_shortest_intervals_is_restored(state):
    outcomes = Outcomes()
    for _ in range(2 * DAY // INTERVAL_MINUTES):
        outcomes, _ = with_minutes(outcomes, Sums(alone=1.0, minutes=INTERVAL_MINUTES))
    assert len(outcomes.intervals) == INTERVALS_MAX
    text = digest_of(msgspec.structs.replace(state, outcomes=outcomes))
    assert restored(text, START + LAST + 1).outcomes == outcomes


def floats(*numbers):
    return array("f", numbers).tobytes()


NO_WEIGHTS = [0.0] * (WEIGHTS - 1)
ONES, ZEROS = floats(*[1.0] * WEIGHTS), floats(*[0.0] * WEIGHTS)


def fields_of(state):
    return msgspec.msgpack.decode(zlib.decompress(base64.b64decode(digest_of(state))))


def packed(fields):
    return base64.b64encode(zlib.compress(msgspec.msgpack.encode(fields))).decode()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({7: bytes(1_000_000), 8: bytes(1_000_000)}, id="a megabyte of levels in 3 KB"),
        pytest.param({7: bytes(2_400), 8: bytes(2_400)}, id="levels of nine days"),
        pytest.param({2: 5_000}, id="a lead of days"),
        pytest.param({7: bytes(2)}, id="means without peaks"),
        pytest.param({4: 0.0}, id="an offset that has no logarithm"),
        pytest.param({4: math.nan}, id="an offset that is NaN"),
        pytest.param({17: [floats(0.0), floats(1.0)]}, id="too few weights"),
        pytest.param({17: [floats(*NO_WEIGHTS, math.nan), ONES]}, id="a weight that is NaN"),
        pytest.param({17: [floats(*NO_WEIGHTS, 1e30), ONES]}, id="a weight without a limit"),
        pytest.param({17: [floats(*NO_WEIGHTS, 0.0), ZEROS]}, id="no squares to divide by"),
        pytest.param({17: [floats(0.0)[:3], ONES]}, id="a part of a weight"),
        pytest.param({18: 1.0}, id="a share that leaves nothing for the other"),
        pytest.param({18: math.nan}, id="a share that is NaN"),
        pytest.param({20: 1.0}, id="shares of more than all"),
        pytest.param({20: -0.5}, id="a negative share"),
        pytest.param({20: math.nan}, id="a share of days that is NaN"),
        pytest.param({19: 5.0}, id="a margin of more than any change of a load"),
        pytest.param({19: math.nan}, id="a margin that is NaN"),
        pytest.param({5: 1e300}, id="levels that no number is large enough for"),
        pytest.param({12: bytes(5)}, id="a part of an interval"),
        pytest.param({12: intervals(145, minutes=10)}, id="more intervals than a day has"),
        pytest.param({12: intervals(1, minutes=9)}, id="an interval that had not ended"),
        pytest.param({12: intervals(1, minutes=-1e9)}, id="an interval that no day is longer than"),
    ],
)
def test_a_digest_that_no_forecast_has_is_ignored(state, change):
    """A user with write access to the status could keep the scaler busy for minutes, and fill its memory."""
    fields = fields_of(state)
    assert restored(packed(fields), START + LAST + 1) is not None
    for index, value in change.items():
        fields[index] = value
    text = packed(fields)
    assert len(text) < 32_768, "kube-apiserver stores it"
    assert restored(text, START + LAST + 1) is None


@pytest.mark.parametrize(
    "text",
    ["", "not base64!", "YWJj", "eJwDAAAAAAE="],
    ids=["empty", "text", "not zlib", "zlib of nothing"],
)
def test_what_is_not_a_digest_is_ignored(text):
    assert restored(text, START) is None


@pytest.mark.parametrize("minutes", [1, AHEAD_MINUTES_MAX])
def test_a_digest_of_the_future_keeps_its_times_of_the_day_and_goes_on_once_they_are_reached(
    state, minutes
):
    """Of another machine, whose clock is ahead. A load never moves to another time of the day."""
    found = restored(digest_of(state), START + LAST - minutes)
    assert found == restored(digest_of(state), START + LAST)
    not_reached = observed(found, observation(START + LAST - minutes + 1, 1e6))
    assert not_reached is found
    assert next_minutes(found) == pytest.approx(next_minutes(state), abs=1)


def test_a_digest_of_the_far_future_is_ignored(state):
    assert restored(digest_of(state), START + LAST - AHEAD_MINUTES_MAX - 1) is None
