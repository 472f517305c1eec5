"""The memory in a status: it comes back as it was, and fits what the CRD allows."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Change, Memory, StoredMemory
from scaler.api.autoscaler import AutoscalerStatus, Condition
from scaler.api.history import History, Recommendation, ScaleEvent
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.cluster.status import ENTRIES_MAX, status_body, stored_memory
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import autoscaler, few_examples, spec

times = st.floats(0, 50)
recommendations = st.lists(
    st.builds(
        Recommendation,
        replicas=st.integers(0, 9),
        since_unix_seconds=times,
        until_unix_seconds=times,
    ),
    max_size=30,
).map(tuple)
events = st.lists(
    st.builds(
        ScaleEvent,
        replica_change=st.integers(0, 9),
        happened_at_unix_seconds=times,
        outdated=st.booleans(),
        may_be_older=st.booleans(),
    ),
    max_size=5,
).map(tuple)


def stored(memory, kind=LOAD_AUTOSCALERS):
    return stored_memory(
        status_body(autoscaler(spec()), AutoscalerStatus(), history_of(memory, EXTENSIONS), kind)
    )


@few_examples
@given(recommendations, events, events)
def test_the_memory_comes_back_as_it_was(made, ups, downs):
    parts = {"recommendations": made, "scale_up_events": ups, "scale_down_events": downs}
    assert stored(Memory(**parts)) == StoredMemory(history=History(**parts), known_replicas=(0, 0))


def test_a_stored_memory_knows_the_counts_of_the_status():
    status = AutoscalerStatus(current_replicas=2, desired_replicas=5)
    body = status_body(
        autoscaler(spec()),
        status,
        history_of(Memory(recommendations=()), EXTENSIONS),
        LOAD_AUTOSCALERS,
    )
    assert stored_memory(body).known_replicas == (5, 2)


def test_a_stored_memory_of_a_target_whose_scale_was_never_read_knows_no_count():
    """Else a restart would count all replicas as added now, and the policies would allow no more for a period."""
    assert stored(Memory(recommendations=None)).known_replicas == ()


def test_a_stored_memory_of_a_target_that_was_read_without_replicas_knows_zero():
    step = Recommendation(replicas=0, since_unix_seconds=1.0, until_unix_seconds=2.0)
    assert stored(Memory(recommendations=(step,))).known_replicas == (0, 0)


def test_after_a_rescale_a_stored_memory_knows_only_the_count_that_was_set():
    rescaled = Condition(type="AbleToScale", status="True", reason="SucceededRescale")
    status = AutoscalerStatus(current_replicas=2, desired_replicas=5, conditions=(rescaled,))
    body = status_body(autoscaler(spec()), status, History(), LOAD_AUTOSCALERS)
    assert stored_memory(body).known_replicas == (5,)


def test_a_change_without_a_confirmation_is_not_stored():
    """The next process finds it by the count."""
    change = Change(before=2, after=5, at_unix_seconds=1.0, confirmed=False)
    assert b"unconfirmed" not in status_body(
        autoscaler(spec()),
        AutoscalerStatus(),
        history_of(Memory(unconfirmed=change), EXTENSIONS),
        LOAD_AUTOSCALERS,
    )


def test_an_autoscaler_that_was_never_reconciled_has_no_history():
    assert stored_memory(b"{}") == StoredMemory()
    assert stored_memory(b'{"status": {"history": null}}') == StoredMemory()
    assert stored(Memory()).history.recommendations is None


def test_an_hpa_has_no_history():
    body = status_body(
        autoscaler(spec()), AutoscalerStatus(), History(), HORIZONTAL_POD_AUTOSCALERS
    )
    assert not {"history", "reference", "targets"} & set(msgspec.json.decode(body)["status"])


def test_of_more_events_than_the_crd_allows_the_latest_are_kept():
    """A status with more of them would be rejected at every write."""
    events = tuple(
        ScaleEvent(replica_change=1, happened_at_unix_seconds=float(n)) for n in range(3000)
    )
    kept = stored(Memory(scale_up_events=events)).history.scale_up_events
    assert [each.happened_at_unix_seconds for each in kept] == [
        float(n) for n in range(3000 - ENTRIES_MAX, 3000)
    ]
