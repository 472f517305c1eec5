"""Whose turn is next, and until when a soak runs."""

import datetime

import pytest

from testbed.soak.schedule import Source, Spent, next_source, seconds_until


def source(name: str, *, processors: int = 1, weight: float = 1.0, seconds: float = 60.0) -> Source:
    return Source(
        name=name,
        command=("run", "{first}..{after}"),
        environment={"NUMBER": "{first}"},
        numbers=10,
        turn_seconds=seconds,
        processors=processors,
        weight=weight,
    )


SMALL, OTHER, LARGE = source("small"), source("other"), source("large", processors=2)
EVERY = (SMALL, OTHER, LARGE)


def spent(**seconds: float) -> dict[str, Spent]:
    return {
        name: Spent(seconds=each, turns=1, longest_seconds=each) for name, each in seconds.items()
    }


@pytest.mark.parametrize(
    ("used", "running", "expected"),
    [
        pytest.param({}, [], "small", id="the first one at the beginning"),
        pytest.param(spent(small=1), [], "other", id="the one without a turn"),
        pytest.param(spent(small=30, other=20, large=40), [], "other", id="the least time"),
        pytest.param(spent(small=30, other=20, large=14), [], "other", id="time of both processors"),
        pytest.param(spent(small=30, other=20), ["other"], None, id="others wait for one that needs both"),
        pytest.param(spent(large=40, small=30, other=20), ["other"], "small", id="not two turns of one source"),
        pytest.param({}, ["small", "other"], None, id="both processors are used"),
        pytest.param({}, ["large"], None, id="both are used by one"),
    ],
)  # fmt: skip
def test_the_source_with_the_least_time_is_next(used, running, expected):
    found = next_source(EVERY, used, running, remaining_seconds=3600.0)
    assert (found and found.name) == expected


def test_a_weight_is_a_share_of_the_time():
    heavy = source("heavy", weight=4.0)
    used = spent(small=20, heavy=70)
    assert next_source((SMALL, heavy), used, [], remaining_seconds=3600.0) == heavy
    used = spent(small=20, heavy=90)
    assert next_source((SMALL, heavy), used, [], remaining_seconds=3600.0) == SMALL


def test_a_turn_that_does_not_fit_is_passed_over():
    long = source("long", seconds=600.0)
    assert next_source((long, SMALL), {}, [], remaining_seconds=599.0) == SMALL
    assert next_source((long, SMALL), {}, [], remaining_seconds=600.0) == long
    assert next_source((long, SMALL), {}, [], remaining_seconds=59.0) is None


def test_what_a_turn_takes_here_counts_once_it_is_known():
    used = spent(small=100)
    assert next_source((SMALL,), used, [], remaining_seconds=99.0) is None


def test_each_source_has_its_share_of_a_long_soak():
    used = {each.name: Spent() for each in EVERY}
    for _ in range(300):
        found = next_source(EVERY, used, [], remaining_seconds=3600.0)
        assert found is not None
        used[found.name].add(found.turn_seconds)
    assert [used[each.name].turns for each in EVERY] == [120, 120, 60]


def test_a_command_names_its_numbers():
    assert SMALL.command_for(40) == ["run", "40..50"]
    assert SMALL.environment_for(40) == {"NUMBER": "40"}


@pytest.mark.parametrize(
    ("until", "seconds"),
    [
        pytest.param("22:30", 1800, id="today"),
        pytest.param("01:00", 3 * 3600, id="tomorrow"),
        pytest.param("22:00", 24 * 3600, id="now is the same time tomorrow"),
    ],
)
def test_a_soak_ends_when_the_clock_shows_the_time(until, seconds):
    now = datetime.datetime(2026, 3, 1, 22, 0, tzinfo=datetime.UTC)
    assert seconds_until(until, now) == seconds


@pytest.mark.parametrize("until", ["", "7", "25:00", "tomorrow"])
def test_a_text_of_another_form_is_an_error(until):
    with pytest.raises(ValueError, match=r"does not match|unconverted"):
        seconds_until(until, datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC))
