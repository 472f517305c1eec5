"""A forecast that learns from recorded load is the one that would have read the same minutes at their time."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaler.algorithm.settings import Settings
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from scaler.extensions.forecast.digest import digest_of, restored
from scaler.extensions.forecast.foresee import foresee, new_forecast, remembered
from scaler.extensions.forecast.state import (
    LEARNING,
    ForecastMemory,
    Load,
    Recorded,
    Verdict,
    WarmStart,
    moved,
)
from scaler.extensions.forecast.warm_start import (
    difference,
    learned_from_recorded,
    learning_text,
    readings_of,
    replayed,
    warm_started,
)
from tests.unit.scaler.extensions.forecast.loads import DAY, START, daily
from tests.unit.scaler.objects import average, effective, external, named, replaced, spec

PER_REPLICA = 10.0


def policy(**fields):
    of = spec(named(external(average("10")), "load"), min_replicas=1, max_replicas=100)
    of = replaced(of, forecast=ForecastSpec(metric="load", mode="Add", **fields))
    return effective(of, Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS))


POLICY = policy()
RULES = POLICY.rules["forecast"]


def new():
    return new_forecast(RULES)


def recorded(minutes, shape=daily):
    return {START + minute: shape(minute) for minute in minutes}


def from_history(minutes, state=None, shape=daily):
    return replayed(state or new(), recorded(minutes, shape), RULES, POLICY, PER_REPLICA)


def online(minutes, state=None, shape=daily):
    """What reconciles of a dry run remember, of this metric alone."""
    dry_run = msgspec.structs.replace(RULES, acts=False)
    memory = ForecastMemory(state=state or new())
    for minute in minutes:
        load = Load(total=shape(minute), per_replica=PER_REPLICA)
        found = foresee(dry_run, POLICY, memory.state, load, (START + minute) * 60.0 + 7.0)
        # The highest count of the metric alone in the scale-down window of five minutes.
        stabilized = max(found.state.alone_by_minute)
        memory, _ = remembered(found, dry_run, POLICY, memory, stabilized=stabilized, others=0)
    return memory.state


def without_digest(state):
    return msgspec.structs.replace(state, digest_minute=0, recorded=None)


@pytest.fixture(scope="module")
def four_days_replayed():
    return from_history(range(4 * DAY))


@pytest.fixture(scope="module")
def four_days(four_days_replayed):
    """A forecast that has learned them from history."""
    return learned_from_recorded(four_days_replayed, 4 * DAY)


def test_four_recorded_days_are_learned_and_judged_as_if_they_had_been_read(four_days):
    read = online(range(4 * DAY))
    assert read.verdict.is_reliable
    same_words = msgspec.structs.replace(four_days, verdict=read.verdict)
    assert without_digest(same_words) == without_digest(read)
    assert four_days.verdict.reason == read.verdict.reason


def test_a_forecast_that_continues_after_a_warm_start_is_the_one_that_has_read_everything(
    four_days, four_days_replayed
):
    later = range(4 * DAY, 4 * DAY + 90)
    continued = online(later, state=without_digest(four_days))
    whole = online(later, state=four_days_replayed)
    assert continued.bound == whole.bound
    assert continued.outcomes == whole.outcomes


LOADS = st.lists(
    st.one_of(st.none(), st.floats(min_value=0.0, max_value=1e6)), min_size=2, max_size=60
)


@settings(max_examples=40, deadline=None)
@given(loads=LOADS, share=st.floats(min_value=0.0, max_value=1.0))
def test_a_replay_may_stop_after_any_minute(loads, share):
    minutes = {START + place: load for place, load in enumerate(loads) if load is not None}
    split = START + int(share * len(loads))
    first = {minute: load for minute, load in minutes.items() if minute < split}
    then = {minute: load for minute, load in minutes.items() if minute >= split}
    whole = replayed(new(), minutes, RULES, POLICY, PER_REPLICA)
    half = replayed(new(), first, RULES, POLICY, PER_REPLICA)
    assert replayed(half, then, RULES, POLICY, PER_REPLICA) == whole
    # Minutes that are known already change nothing.
    assert replayed(whole, minutes, RULES, POLICY, PER_REPLICA) == whole


@settings(max_examples=40, deadline=None)
@given(loads=LOADS)
def test_missing_minutes_are_as_those_that_were_not_read(loads):
    known = [place for place, load in enumerate(loads) if load is not None]
    read = online(known, shape=lambda minute: loads[minute])
    learned = from_history(known, shape=lambda minute: loads[minute])
    assert without_digest(learned) == without_digest(read)


@pytest.mark.parametrize(
    ("window_seconds", "kept"), [(0, 1), (60, 1), (61, 2), (300, 5)], ids=lambda n: f"{n}"
)
def test_only_the_counts_of_the_scale_down_window_hold_the_replicas_up(window_seconds, kept):
    window = msgspec.structs.replace(POLICY, downscale_stabilization_seconds=window_seconds)
    state = replayed(new(), recorded(range(20)), RULES, window, PER_REPLICA)
    assert len(state.alone_by_minute) == kept
    assert state.issued[-1].alone == max(state.alone_by_minute)


def test_the_verdict_says_that_it_is_from_recorded_history(four_days):
    assert four_days.verdict.is_reliable
    assert four_days.verdict.message.endswith("; learned from 4.0 days of recorded history")
    assert "in the 24 hours before" in four_days.verdict.message


def test_with_too_little_history_it_still_learns_and_says_how_much_it_has():
    state = learned_from_recorded(from_history(range(DAY)), DAY)
    assert state.verdict == Verdict(reason=LEARNING)
    assert learning_text(state, None) == "1.0 days of it are from recorded history"


# How it joins what was read meanwhile.


def joined(four_days, *, read, rules=RULES, now_minute=None, state=None):
    """Into the state of a forecast that has read these minutes."""
    before = online(read)
    state = state or msgspec.structs.replace(before, identity=rules.identity)
    now = (START + (now_minute or read[-1])) * 60.0
    found = WarmStart(state=four_days, per_replica=PER_REPLICA)
    return state, warm_started(state, rules, POLICY, found, now)


def test_the_minutes_that_were_read_during_the_replay_follow_without_a_gap(
    four_days, four_days_replayed
):
    _, state = joined(four_days, read=range(4 * DAY - 2, 4 * DAY + 5))
    assert state.levels.end_minute == START + 4 * DAY + 4
    assert len(state.levels) == 4 * DAY + 5
    assert -1.0 not in state.levels.values
    whole = from_history(range(4 * DAY, 4 * DAY + 5), state=four_days_replayed)
    assert state.bound == pytest.approx(whole.bound, rel=1e-5)
    assert state.recorded == Recorded(minutes=4 * DAY, end_minute=START + 4 * DAY - 1)


def test_another_metric_or_lead_does_not_take_it(four_days):
    before, after = joined(
        four_days,
        read=range(4 * DAY, 4 * DAY + 2),
        rules=policy(lead_seconds=600).rules["forecast"],
    )
    assert after is before


def test_a_forecast_that_has_already_learned_keeps_what_it_has(four_days):
    _, after = joined(four_days, read=range(4 * DAY, 4 * DAY + 2), state=four_days)
    assert after is four_days


def test_a_history_of_the_future_is_not_taken(four_days):
    """The wall clock was set back."""
    before, after = joined(four_days, read=range(10), now_minute=10)
    assert after is before


def test_without_a_result_nothing_changes(four_days):
    state = new()
    for found in (None, WarmStart(problem="Prometheus is down")):
        assert warm_started(state, RULES, POLICY, found, START * 60.0) is state
    assert learning_text(new(), WarmStart(problem="Prometheus is down")) == "Prometheus is down"
    assert learning_text(four_days, WarmStart(problem="Prometheus is down")) is None


def test_a_restart_knows_that_it_has_learned_from_history(four_days):
    """So it does not ask Prometheus again, whatever the verdict is."""
    young = learned_from_recorded(from_history(range(100)), 100)
    found = restored(digest_of(young), START + 100)
    assert found.verdict.reason == LEARNING
    assert not found.wants_recorded_load
    assert new().wants_recorded_load
    assert moved(young, 5).recorded == Recorded(minutes=100, end_minute=START + 104)


# Whether the recorded load is that of the metric.


@pytest.mark.parametrize(
    ("factor", "is_alike"),
    [(1.0, True), (1.5, True), (0.7, True), (2.0, False), (0.4, False), (1000.0, False)],
)
def test_a_recorded_load_of_another_size_is_refused(factor, is_alike):
    history = {START + minute: 100.0 for minute in range(60)}
    read = {START + minute: 100.0 * factor for minute in range(57, 62)}
    assert (difference(history, read) is None) is is_alike


def test_the_difference_is_shown_in_numbers():
    found = difference({START: 100.0}, {START: 400.0})
    assert found.startswith("the recorded load is 100 where the metrics API has 400")


def test_an_idle_load_may_differ_by_a_little():
    history = {START + minute: 100.0 if minute < 50 else 0.0 for minute in range(60)}
    assert difference(history, {START + 59: 2.0}) is None


def test_a_history_that_ends_before_the_first_reading_cannot_be_compared():
    assert "does not reach" in difference({START: 1.0}, {START + 1: 1.0})


def test_readings_keep_the_digits_that_decide_about_a_replica():
    """0.3 as a 32-bit number is a little more than 0.3, which would need a replica more."""
    state = online([0, 1], shape=lambda _: 0.3)
    assert readings_of(state.levels) == {START: 0.3, START + 1: 0.3}
    assert readings_of(state.levels, after=START) == {START + 1: 0.3}
    assert readings_of(state.levels, after=START + 5) == {}
