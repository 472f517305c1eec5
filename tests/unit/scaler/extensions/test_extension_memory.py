"""The states of extensions survive restarts, and lie in no future."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.history import history_of, state_of
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.restart import restores_alike
from scaler.api.autoscaler import AutoscalerStatus
from scaler.api.history import History
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.status import status_body, stored_memory
from scaler.extensions import EXTENSIONS
from scaler.extensions.candidate.state import CandidateState
from scaler.extensions.fallback import MetricRecord
from scaler.extensions.panic import Panicking, PanicState
from tests.unit.scaler.objects import NOW, autoscaler, few_examples, spec


def measured(value_milli, *, after_seconds=0):
    return MetricRecord(
        name="queue",
        last_value_milli=value_milli,
        measured_at_unix_seconds=NOW - 700 + after_seconds,
    )


HEALTHY = measured(100)
FAILING = msgspec.structs.replace(HEALTHY, failing_since_unix_seconds=NOW - 60)


def memory(*records, inactive_seconds=None):
    states = {"fallback": records} if records else {}
    if inactive_seconds is not None:
        states["zero"] = NOW - inactive_seconds
    return Memory(states=states)


times = st.none() | st.floats(NOW - 5_000, NOW)
memories = st.builds(
    lambda inactive, failing, measured: Memory(
        states={
            **({} if inactive is None else {"zero": inactive}),
            "fallback": (
                MetricRecord(
                    name="queue",
                    failing_since_unix_seconds=failing,
                    measured_at_unix_seconds=measured,
                    last_value_milli=None if measured is None else 7,
                ),
            ),
        }
    ),
    times,
    times,
    times,
)


def restored(before, *, now=NOW):
    history = history_of(before, EXTENSIONS)
    body = status_body(autoscaler(spec()), AutoscalerStatus(), history, LOAD_AUTOSCALERS)
    stored = stored_memory(body)
    return {each.name: state_of(stored, each, now) for each in EXTENSIONS}


@few_examples
@given(before=memories)
def test_what_is_stored_is_what_is_restored(before):
    found = {name: state for name, state in restored(before).items() if state is not None}
    assert found == before.states


@few_examples
@given(before=memories, ahead=st.integers(1, 3_600))
def test_no_time_of_a_faster_clock_is_in_the_future(before, ahead):
    found = restored(before, now=NOW - ahead)
    (record,) = found["fallback"]
    for time in (
        found["zero"],
        record.failing_since_unix_seconds,
        record.measured_at_unix_seconds,
    ):
        assert time is None or time <= NOW - ahead


@pytest.mark.parametrize("age_seconds", [0, 20, 45, 300])
@pytest.mark.parametrize("ahead_seconds", [-60, -30, -5, 0, 5, 30, 60])
def test_an_age_differs_by_no_more_than_the_clocks(age_seconds, ahead_seconds):
    """`clock-steps` in docs/deviations.md: of the cooldown, a fallback, a panic and a candidate."""
    at = NOW - age_seconds
    record = msgspec.structs.replace(
        HEALTHY, failing_since_unix_seconds=at, measured_at_unix_seconds=at
    )
    states = {
        "zero": at,
        "fallback": (record,),
        "panic": PanicState(panicking=Panicking(over_at_unix_seconds=at, highest=3)),
        "candidate": CandidateState(
            hash="a", held_at_unix_seconds=at, breached_since_unix_seconds=(at,)
        ),
    }
    now = NOW + ahead_seconds
    found = restored(Memory(states=states), now=now)
    (record,) = found["fallback"]
    times = (
        found["zero"],
        record.failing_since_unix_seconds,
        record.measured_at_unix_seconds,
        found["panic"].panicking.over_at_unix_seconds,
        found["candidate"].held_at_unix_seconds,
        *found["candidate"].breached_since_unix_seconds,
    )
    assert [now - each for each in times] == [max(0, age_seconds + ahead_seconds)] * len(times)


@pytest.mark.parametrize(
    ("stored", "now", "alike"),
    [
        pytest.param(Memory(), Memory(), True, id="nothing"),
        pytest.param(Memory(), memory(HEALTHY), False, id="the first last value"),
        pytest.param(memory(HEALTHY), memory(measured(108, after_seconds=590)), True, id="another"),
        pytest.param(memory(HEALTHY), memory(measured(112)), False, id="one that is larger"),
        pytest.param(memory(HEALTHY), memory(measured(89)), False, id="one that is smaller"),
        pytest.param(
            memory(HEALTHY), memory(measured(100, after_seconds=601)), False, id="ten minutes"
        ),
        pytest.param(memory(measured(0)), memory(measured(0)), True, id="zero"),
        pytest.param(memory(measured(0)), memory(measured(1)), False, id="more than zero"),
        pytest.param(memory(HEALTHY), memory(FAILING), False, id="a failure begins"),
        pytest.param(memory(FAILING), memory(FAILING), True, id="a failure lasts"),
        pytest.param(memory(FAILING), memory(HEALTHY), False, id="a failure ends"),
        pytest.param(Memory(), memory(inactive_seconds=9), False, id="a cooldown begins"),
        pytest.param(memory(inactive_seconds=9), memory(inactive_seconds=9.5), True, id="it lasts"),
        pytest.param(memory(inactive_seconds=9), memory(), False, id="it ends"),
    ],
)
def test_the_status_is_written_when_a_restart_would_forget_something(stored, now, alike):
    assert restores_alike(stored, now, EXTENSIONS) is alike


DEEP = b"[" * 9_000 + b"]" * 9_000


@pytest.mark.parametrize("stored", [b'"seven"', b'{"x":' + DEEP + b"}", b'[{"x":' + DEEP + b"}]"])
def test_a_state_that_cannot_be_read_is_none(stored):
    """The status of a LoadAutoscaler has what its users write there."""
    for extension in EXTENSIONS:
        if extension.stored_as and not extension.stored_beside:
            history = History(extensions={extension.stored_as: msgspec.Raw(stored)})
            assert state_of(StoredMemory(history=history), extension, NOW) is None
