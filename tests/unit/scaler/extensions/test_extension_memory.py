"""The memory of the fields that only a LoadAutoscaler has survives restarts and steps of the clock."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.memory import ExtensionMemory, Memory, MetricRecord
from scaler.algorithm.restart import restored, restores_alike, shifted
from scaler.api.autoscaler import AutoscalerStatus
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.status import status_body, stored_memory
from tests.unit.scaler.objects import FLAGS, NOW, autoscaler, few_examples, spec

HEALTHY = MetricRecord(name="queue", last_value_milli=7, measured_at_unix_seconds=NOW - 1)
FAILING = msgspec.structs.replace(HEALTHY, failing_since_unix_seconds=NOW - 60)


def memory(*records, inactive_seconds=None):
    since = None if inactive_seconds is None else NOW - inactive_seconds
    return Memory(extensions=ExtensionMemory(metrics=records, inactive_since_unix_seconds=since))


times = st.none() | st.floats(NOW - 5_000, NOW)
memories = st.builds(
    lambda inactive, failing, measured: Memory(
        extensions=ExtensionMemory(
            inactive_since_unix_seconds=inactive,
            metrics=(
                MetricRecord(
                    name="queue",
                    failing_since_unix_seconds=failing,
                    measured_at_unix_seconds=measured,
                    last_value_milli=None if measured is None else 7,
                ),
            ),
        )
    ),
    times,
    times,
    times,
)


@few_examples
@given(before=memories)
def test_what_is_stored_is_what_is_restored(before):
    body = status_body(autoscaler(spec()), AutoscalerStatus(), before, LOAD_AUTOSCALERS)
    found = restored(
        stored_memory(body), policy_of(spec(), FLAGS), replicas=3, now_unix_seconds=NOW
    )
    assert found.extensions == before.extensions


@few_examples
@given(before=memories, ahead=st.integers(1, 3_600))
def test_no_time_of_a_faster_clock_is_in_the_future(before, ahead):
    body = status_body(autoscaler(spec()), AutoscalerStatus(), before, LOAD_AUTOSCALERS)
    found = restored(
        stored_memory(body), policy_of(spec(), FLAGS), replicas=3, now_unix_seconds=NOW - ahead
    ).extensions
    assert found is not None
    (record,) = found.metrics
    for time in (
        found.inactive_since_unix_seconds,
        record.failing_since_unix_seconds,
        record.measured_at_unix_seconds,
    ):
        assert time is None or time <= NOW - ahead


@few_examples
@given(before=memories, seconds=st.integers(-3_600, 3_600))
def test_a_step_of_the_clock_keeps_every_age(before, seconds):
    assert restores_alike(shifted(shifted(before, seconds), -seconds), before)
    found = shifted(before, seconds).extensions
    assert found is not None
    assert before.extensions is not None
    old, new = before.extensions.inactive_since_unix_seconds, found.inactive_since_unix_seconds
    assert new == (None if old is None else old + seconds)


@pytest.mark.parametrize(
    ("stored", "now", "alike"),
    [
        pytest.param(Memory(), Memory(), True, id="nothing"),
        pytest.param(Memory(), memory(HEALTHY), True, id="a value of a healthy metric"),
        pytest.param(memory(HEALTHY), memory(FAILING), False, id="a failure begins"),
        pytest.param(memory(FAILING), memory(FAILING), True, id="a failure lasts"),
        pytest.param(memory(FAILING), memory(HEALTHY), False, id="a failure ends"),
        pytest.param(Memory(), memory(inactive_seconds=9), False, id="a cooldown begins"),
        pytest.param(memory(inactive_seconds=9), memory(inactive_seconds=9.5), True, id="it lasts"),
        pytest.param(memory(inactive_seconds=9), memory(), False, id="it ends"),
    ],
)
def test_the_status_is_written_when_a_restart_would_forget_something(stored, now, alike):
    assert restores_alike(stored, now) is alike
