"""The parts of a compressed day: its time, its load, what is learned before, and what is made of what was recorded."""

import asyncio
import time

import msgspec
import pytest

from benchmarks.compressed_day.compressed_time import CompressedLoop, CompressedTime
from benchmarks.compressed_day.learned_days import learned_days
from benchmarks.compressed_day.outcome import (
    Delays,
    Outcome,
    Replicas,
    Sample,
    Times,
    delays_of,
    failures,
    outcome_of,
    table,
)
from benchmarks.compressed_day.played_load import (
    LEARNED_DAYS,
    PlayedLoad,
    Timetable,
    played,
    synthetic_trace,
)
from scaler.extensions.forecast.digest import restored

TIMETABLE = Timetable(begins=7, normal=2, shifted=1, returned=1)
TIMES = Times(shifts=600.0, returns=6600.0, ends=9000.0)
PUNCTUAL = Delays(reconciles=100, mean_seconds=0.2, of_99_percent=1.0)


def test_compressed_time_stands_still_until_it_begins():
    compressed = CompressedTime(speed=240, start_unix_seconds=1e9, begins_at_seconds=50.0)
    elapsed = [compressed.elapsed_at(each) for each in (0.0, 50.0, 50.25, 51.0)]
    assert elapsed == [0.0, 0.0, 60.0, 240.0]


async def wait_for_a_deadline(seconds: float) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()


def test_timers_of_the_loop_are_in_compressed_seconds():
    begin = time.monotonic()
    compressed = CompressedTime(speed=10_000, start_unix_seconds=1e9, begins_at_seconds=begin)
    with asyncio.Runner(loop_factory=lambda: CompressedLoop(compressed)) as runner:
        runner.run(wait_for_a_deadline(1200))
    assert compressed.clock.now() >= 1e9 + 1200
    assert compressed.clock.monotonic() >= 1200
    assert time.monotonic() - begin < 60


def test_the_load_falls_to_a_third_and_returns():
    trace = synthetic_trace("daily")
    load = played(trace, TIMETABLE)
    assert load.at(load.shifts - 60) == trace.at(load.shifts - 60)
    assert load.at(load.shifts) == pytest.approx(trace.at(load.shifts) / 3)
    assert load.at(load.returns) == trace.at(load.returns)
    assert load.learned.loads == trace.loads[: 8 * 1440 + 7 * 60]


def test_a_batch_is_on_for_40_or_47_minutes_every_four_hours():
    loads = synthetic_trace("batch").loads
    lengths = [sum(each > 400 for each in loads[a : a + 240]) for a in range(0, len(loads), 240)]
    assert len(lengths) == 11 * 6
    assert set(lengths) == {40, 47}
    assert all(loads[a] > 400 and loads[a - 1] < 200 for a in range(240, len(loads), 240))


def test_a_trace_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match=r"synthetic daily load ends 24\.0 hours too early"):
        played(synthetic_trace("daily"), Timetable(begins=0, normal=72, shifted=12, returned=12))


def four_days_before(load: PlayedLoad) -> PlayedLoad:
    """Without the earlier ones, which take their time and change nothing here."""
    cut = (LEARNED_DAYS - 4) * 1440
    start = load.trace.start_unix_seconds + cut * 60
    trace = msgspec.structs.replace(
        load.trace, start_unix_seconds=start, loads=load.trace.loads[cut:]
    )
    return msgspec.structs.replace(load, trace=trace)


def test_the_forecast_may_act_after_the_learned_days():
    load = four_days_before(played(synthetic_trace("daily"), TIMETABLE))
    learned = learned_days(load, start_up_seconds=180)
    state = restored(learned.digest, round(load.begins) // 60)
    assert state is not None
    assert (learned.reason, state.verdict.reason) == ("Reliable", "Reliable")
    assert state.levels.end_minute == round(load.begins) // 60 - 1
    assert learned.replicas >= load.needed_at(load.begins)


def sample(at: float, ready: tuple[int, int], added: int = 0, reason: str = "Reliable") -> Sample:
    """With and without a forecast; all requested replicas are ready, and ten are needed."""
    with_forecast, without = (Replicas(requested=each, ready=each) for each in ready)
    return Sample(
        unix_seconds=at,
        needed=10,
        with_forecast=with_forecast,
        without_forecast=without,
        added=added,
        reason=reason,
    )


SAMPLES = [
    sample(0, (12, 8), added=3),
    sample(120, (12, 9), added=2),
    sample(240, (12, 12)),
    sample(600, (12, 12)),
    sample(3000, (9, 8), added=1),
    sample(6600, (9, 9)),
    sample(6660, (12, 12)),
]


def test_the_outcome_counts_minutes_by_the_time_between_samples():
    outcome = outcome_of(SAMPLES, TIMES, PUNCTUAL)
    normal, shifted, returned = outcome.parts
    assert (normal.minutes, normal.under_with, normal.under_without) == (10, 0, 4)
    assert (normal.ahead_minutes, normal.added_most) == (4, 3)
    assert (shifted.minutes, shifted.replica_minutes_with) == (100, 1020)
    assert (returned.minutes, returned.under_with, returned.under_without) == (40, 1, 1)
    assert outcome.shift_percent == pytest.approx(100 * 60 / (10.6 * 1440))
    assert failures(outcome) == []


def test_the_table_has_the_parts_and_the_times():
    text = table(outcome_of(SAMPLES, TIMES, PUNCTUAL))
    assert "| normal load | 10 | 0, 4 minutes | 2, 2 | 3 | 4 minutes |" in text
    assert "During the shift, the forecast added 0.4% of the replicas of a normal day." in text


GOOD = outcome_of(SAMPLES, TIMES, PUNCTUAL)


def with_normal(**figures: float) -> Outcome:
    """The good outcome with other figures of the normal load."""
    normal = msgspec.structs.replace(GOOD.parts[0], **figures)
    return msgspec.structs.replace(GOOD, parts=(normal, *GOOD.parts[1:]))


def changed(**fields: object) -> Outcome:
    """The good outcome with other fields."""
    return msgspec.structs.replace(GOOD, **fields)


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        (with_normal(added_most=0), "The forecast added nothing to the normal load."),
        (
            with_normal(under_with=5.0),
            "With the forecast, the normal load was under-provisioned for longer.",
        ),
        (
            changed(shift_percent=10.1),
            "During the shift, the forecast added more than 10% of the replicas of a day.",
        ),
        (
            changed(delays=msgspec.structs.replace(PUNCTUAL, of_99_percent=32.8)),
            "The programs did not keep up: reconciles were late. Use a lower --speed.",
        ),
    ],
)
def test_each_check_fails_by_itself(outcome: Outcome, sentence: str):
    assert failures(outcome) == [sentence]


def test_delays_are_read_from_the_buckets():
    delays = delays_of([(0.5, 90.0), (1.0, 98.0), (2.0, 99.5), (float("inf"), 100.0)], 40.0)
    assert delays == Delays(reconciles=100, mean_seconds=0.4, of_99_percent=2.0)
