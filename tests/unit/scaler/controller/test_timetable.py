"""When an autoscaler is looked at."""

from hypothesis import given
from hypothesis import strategies as st

from scaler.controller import Timetable

PERIOD_SECONDS = 15.0


def timetable(chance: float = 0.0) -> Timetable:
    return Timetable(PERIOD_SECONDS, chance=lambda: chance)


def test_the_first_look_is_one_period_after_an_autoscaler_appears():
    table = timetable()
    table.add("ns/a", 100.0)
    assert table.take(114.9) is None
    assert table.take(115.0) == ("ns/a", 115.0)


def test_a_change_does_not_bring_the_look_forward_nor_put_it_off():
    table = timetable()
    table.add("ns/a", 100.0)
    table.add("ns/a", 110.0)
    assert table.next_due_seconds == 115.0
    table.take(115.0)
    assert table.take(1_000.0) is None


def test_an_autoscaler_is_not_looked_at_twice_at_once():
    table = timetable()
    table.add("ns/a", 0.0)
    table.take(15.0)
    table.add("ns/a", 15.0)
    assert table.take(1_000.0) is None


def test_looks_keep_the_beat_however_long_they_take():
    table = timetable()
    table.add("ns/a", 0.0)
    due = []
    for end_seconds in (16.0, 44.0, 46.0):
        taken = table.take(end_seconds)
        assert taken is not None
        due.append(taken[1])
        table.done("ns/a", end_seconds, again=True)
    assert due == [15.0, 30.0, 45.0]


def test_beats_that_were_missed_are_not_made_up_for():
    table = timetable()
    table.add("ns/a", 0.0)
    table.take(15.0)
    table.done("ns/a", 100.0, again=True)
    assert table.next_due_seconds == 105.0


def test_a_beat_that_comes_right_after_a_look_is_left_out():
    """Its look would find the autoscaler from before the status that this one wrote."""
    table = timetable()
    table.add("ns/a", 0.0)
    table.take(15.0)
    table.done("ns/a", 29.9, again=True)
    assert table.next_due_seconds == 45.0


def test_one_that_is_gone_is_not_looked_at_again():
    table = timetable()
    table.add("ns/a", 0.0)
    table.take(15.0)
    table.done("ns/a", 15.1, again=False)
    assert (table.next_due_seconds, len(table)) == (None, 0)


def test_the_longest_due_comes_first():
    table = timetable()
    for name, at_seconds in (("b", 2.0), ("c", 3.0), ("a", 1.0)):
        table.add(name, at_seconds)
    assert [table.take(100.0), table.take(100.0)] == [("a", 16.0), ("b", 17.0)]


def test_autoscalers_found_at_the_start_are_spread_over_the_first_period():
    early, late = timetable(chance=0.999), timetable(chance=0.0)
    for table in (early, late):
        table.add("ns/a", 0.0, spread=True)
    assert early.next_due_seconds is not None
    assert 0 < early.next_due_seconds < 0.1
    assert late.next_due_seconds == PERIOD_SECONDS


def test_what_was_cleared_may_appear_again():
    table = timetable()
    table.add("ns/a", 0.0)
    table.clear()
    assert table.take(1_000.0) is None
    table.add("ns/a", 1_000.0)
    assert table.take(1_015.0) == ("ns/a", 1_015.0)


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.floats(0, 40), st.floats(0, 40)),
        min_size=1,
        max_size=60,
    )
)
def test_between_two_looks_lies_a_period_less_what_the_earlier_one_was_late(steps):
    """Whatever appears when and however long a look takes: on the beat, and never two at once."""
    table = timetable()
    now_seconds = 0.0
    last_due: dict[str, float] = {}
    for key, wait_seconds, work_seconds in steps:
        table.add(key, now_seconds)
        now_seconds += wait_seconds
        # At most three keys are due before the next step.
        for taken in filter(None, (table.take(now_seconds) for _ in "abc")):
            name, due_seconds = taken
            assert due_seconds <= now_seconds
            if name in last_due:
                beats = (due_seconds - last_due[name]) / PERIOD_SECONDS
                assert round(beats) >= 1
                assert abs(beats - round(beats)) < 1e-6
            last_due[name] = due_seconds
            now_seconds += work_seconds
            table.done(name, now_seconds, again=True)
