"""The history in a status: what comes back decides as what was remembered."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scaler.model.autoscaler import Behavior, ScalingRules
from scaler.model.memory import Memory, Recommendation, ScaleEvent
from scaler.report.status import LoadAutoscalerStatus, history_of, stored_memory

UP_AND_DOWN = Behavior(scale_up=ScalingRules(stabilization_window_seconds=60))


def stored(memory: Memory, behavior: Behavior | None) -> Memory:
    status = LoadAutoscalerStatus(history=history_of(memory, behavior))
    return stored_memory(msgspec.json.encode({"status": status}))


recommendations = st.lists(
    st.builds(
        Recommendation,
        replicas=st.integers(0, 9),
        made_at_unix_seconds=st.integers(0, 50).map(float),
    ),
    max_size=30,
).map(tuple)
events = st.lists(
    st.builds(
        ScaleEvent,
        replica_change=st.integers(0, 9),
        happened_at_unix_seconds=st.floats(0, 50),
        outdated=st.booleans(),
    ),
    max_size=5,
).map(tuple)


@given(recommendations, st.integers(-1, 51), st.booleans())
def test_the_highest_and_lowest_of_every_window_survive(made, since_seconds, is_up_stabilized):
    """Whatever the window: what stabilization asks for is in the part that was kept."""
    behavior = UP_AND_DOWN if is_up_stabilized else None
    kept = stored(Memory(recommendations=made), behavior).recommendations
    assert kept is not None

    def within(found):
        return [each.replicas for each in found if each.made_at_unix_seconds > since_seconds]

    assert max(within(kept), default=None) == max(within(made), default=None)
    if is_up_stabilized:
        assert min(within(kept), default=None) == min(within(made), default=None)
    assert set(kept) <= set(made)


@given(events, events)
def test_scale_events_come_back_as_they_were(ups, downs):
    memory = Memory(recommendations=(), scale_up_events=ups, scale_down_events=downs)
    assert stored(memory, None) == memory


def test_one_that_was_never_looked_at_has_no_history():
    assert stored_memory(b"{}") == Memory()
    assert stored_memory(b'{"status": {"history": null}}') == Memory()
    assert stored(Memory(), None).recommendations is None


def test_a_quiet_hour_is_a_short_history():
    quiet = tuple(Recommendation(replicas=3, made_at_unix_seconds=15.0 * n) for n in range(240))
    kept = history_of(Memory(recommendations=quiet), UP_AND_DOWN).recommendations
    assert kept is not None
    assert [each.made_at_unix_seconds for each in kept] == [239 * 15.0]


def test_of_very_many_changes_the_latest_are_kept():
    """More than the CRD takes would make every status write fail."""
    events = tuple(
        ScaleEvent(replica_change=1, happened_at_unix_seconds=float(n)) for n in range(3000)
    )
    kept = history_of(Memory(scale_up_events=events), None).scale_up_events
    assert [each.happened_at_unix_seconds for each in kept] == [float(n) for n in range(2000, 3000)]
