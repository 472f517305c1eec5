"""In which order events wait, and how many."""

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.cluster.events.correlation import Correlator, Write
from scaler.cluster.events.event_queue import PLACE_CHARACTERS, EventQueue, EventQueueLimits
from tests.unit.scaler.cluster.events.test_recorder import WEB, autoscaler, happened


def test_the_queue_has_one_write_for_each_event_and_normal_events_first():
    queue = EventQueue(EventQueueLimits(normal=2, warning=1))
    correlator, moments = Correlator(), itertools.count()

    def put(message, kind):
        # Normal events of another object: those of the same one wait for its Warnings.
        about = WEB if kind == "Warning" else autoscaler(1)
        event = happened(message, kind=kind, at=float(next(moments)), about=about)
        write = correlator.correlate(event, now_seconds=0.0)
        assert write is not None
        return queue.put(write)

    assert [put("w", "Warning"), put("w", "Warning"), put("x", "Warning")] == [True, True, False]
    assert [put("a", "Normal"), put("b", "Normal"), put("c", "Normal")] == [True, True, False]
    popped = [queue.pop() for _ in range(len(queue))]
    assert [(each.event.message, each.event.count) for each in popped] == [
        ("a", 1),
        ("b", 1),
        ("w", 2),
    ]
    assert popped[2].patch is None, "it was never created"


NORMAL_OR_WARNING = st.sampled_from(["Normal", "Warning"])


@given(st.lists(st.tuples(st.integers(0, 2), NORMAL_OR_WARNING, st.booleans()), max_size=60))
def test_no_warning_is_written_after_a_later_normal_event_of_its_object(steps):
    queue, correlator = EventQueue(), Correlator(objects_max=10)
    recorded, written = [], []
    for number, (about, kind, is_popped) in enumerate(steps):
        event = happened(str(number), kind=kind, at=float(number), about=autoscaler(about))
        write = correlator.correlate(event, now_seconds=float(number))
        if write is not None and queue.put(write):
            recorded.append(write.event.metadata.name)
        if is_popped and len(queue):
            written.append(queue.pop().event)
    written += [queue.pop().event for _ in range(len(queue))]
    assert len(queue) == 0
    with pytest.raises(KeyError):
        queue.pop()
    assert {each.metadata.name for each in written} == set(recorded)
    for earlier, later in itertools.combinations(written, 2):
        if earlier.involved_object == later.involved_object and earlier.type == "Normal":
            first_recorded = recorded.index(earlier.metadata.name)
            assert recorded.index(later.metadata.name) > first_recorded or later.type == "Normal"


def test_an_event_with_a_long_message_takes_the_space_of_several():
    queue = EventQueue(EventQueueLimits(normal=4, warning=4))
    correlator, moments = Correlator(), itertools.count()

    def put(message, kind="Warning"):
        event = happened(message, kind=kind, at=float(next(moments)))
        write = correlator.correlate(event, now_seconds=0.0)
        assert write is not None
        return queue.put(write)

    long = "x" * 2 * PLACE_CHARACTERS
    assert [put(long), put(long + "y"), put("z"), put("w")] == [True, False, True, False]
    assert put(long), "it waits already"
    assert put(long, "Normal"), "these have a space of their own"
    while queue:
        queue.pop()
    assert put(long + "again")


def test_an_event_that_waits_is_not_replaced_by_one_that_has_no_space():
    queue = EventQueue(EventQueueLimits(warning=2))
    event = happened("short", kind="Warning")
    longer = msgspec.structs.replace(event, message="x" * 2 * PLACE_CHARACTERS)
    assert [queue.put(Write(event=each)) for each in (event, longer)] == [True, False]
    assert queue.pop().event is event


def test_the_warnings_of_scaled_objects_take_no_space_of_normal_events():
    queue = EventQueue(EventQueueLimits(normal=2, warning=2))
    correlator = Correlator()

    def put(kind, about, message):
        event = happened(message, kind=kind, about=autoscaler(about), at=float(message))
        write = correlator.correlate(event, now_seconds=0.0)
        assert write is not None
        return queue.put(write)

    assert put("Warning", 1, "1")
    assert put("Normal", 1, "2")
    assert put("Normal", 2, "3")
    assert not put("Normal", 3, "4")
    assert put("Warning", 3, "5")
    assert not put("Warning", 4, "6")
    for _ in range(2):
        queue.pop()
    assert put("Normal", 3, "7")
