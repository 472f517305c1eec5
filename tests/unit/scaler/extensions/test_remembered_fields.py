"""No field of a memory is forgotten: by a restart, a step of the clock, or the comparison that decides whether to store it.

A field that is added needs a value here, or a reason why it may be forgotten.
"""

import msgspec
import pytest

from scaler.algorithm.history import history_of, state_of
from scaler.algorithm.memory import Change, Memory, StoredMemory
from scaler.algorithm.restart import restored, restores_alike, shifted
from scaler.api.history import History, ScaleEvent
from scaler.extensions import EXTENSIONS
from scaler.extensions.candidate.state import CandidateState, StoredCandidate, Trial
from scaler.extensions.fallback import MetricRecord
from scaler.extensions.panic import Panicking, PanicState
from tests.unit.scaler.objects import NOW, effective, spec, step

PAST = NOW - 60
DECISIONS = Memory(recommendations=(step(7, 60),), states={"zero": PAST})
STATES = {
    "zero": PAST,
    "panic": PanicState(panicking=Panicking(over_at_unix_seconds=PAST, highest=9)),
    "fallback": (
        MetricRecord(
            name="load",
            failing_since_unix_seconds=PAST,
            last_value_milli=7,
            measured_at_unix_seconds=PAST - 1,
        ),
    ),
    "candidate": CandidateState(hash="x", memory=DECISIONS),
}
FIELDS = {
    "recommendations": (step(7, 60),),
    "scale_up_events": (ScaleEvent(replica_change=2, happened_at_unix_seconds=PAST),),
    "scale_down_events": (ScaleEvent(replica_change=3, happened_at_unix_seconds=PAST),),
    "scaled_to_zero": True,
    "unconfirmed": Change(before=2, after=4, at_unix_seconds=PAST, confirmed=False),
    "states": STATES,
}
NOT_STORED = {"unconfirmed": "the next process finds the change by the count"}
WITHOUT_TIMES = {"scaled_to_zero"}
TRIAL = {
    "hash": "x",
    "step": 2,
    "held_seconds": 90.0,
    "held_at_unix_seconds": PAST,
    "breached_since_unix_seconds": (None, PAST),
    "aborted": "it was",
    "spec_replicas": 20,
    "candidate_replicas": 10,
    "result_replicas": 19,
}
SAME_TRIAL = {"held_at_unix_seconds": "it goes on by itself"}


def test_each_field_and_each_stored_state_has_a_value_here():
    assert set(FIELDS) == set(Memory.__struct_fields__)
    assert set(TRIAL) == set(Trial.__struct_fields__)
    stored = {each.name for each in EXTENSIONS if each.state_type is not None}
    # A forecast is stored as a digest with a version: forecast/test_digest.py.
    assert set(STATES) == stored - {"forecast"}


def stored_and_read(memory):
    """As the next process gets it."""
    body = msgspec.json.encode(history_of(memory, EXTENSIONS))
    return StoredMemory(history=msgspec.json.decode(body, type=History))


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - NOT_STORED.keys() - {"states"}))
def test_a_restart_keeps_a_field(name):
    memory = Memory(recommendations=(step(4, 60),))
    memory = msgspec.structs.replace(memory, **{name: FIELDS[name]})
    found = restored(stored_and_read(memory), effective(spec()), replicas=4, now_unix_seconds=PAST)
    assert getattr(found, name) == FIELDS[name]


@pytest.mark.parametrize("extension", [each for each in EXTENSIONS if each.name in STATES])
def test_a_restart_keeps_the_state_of_an_extension(extension):
    found = state_of(stored_and_read(Memory(states=STATES)), extension, NOW)
    if isinstance(found, CandidateState):
        assert restores_alike(found.stored, DECISIONS, EXTENSIONS)
        found = msgspec.structs.replace(found, stored=None, memory=DECISIONS)
    assert found == STATES[extension.name]


def test_a_restart_keeps_each_field_of_a_trial():
    state = CandidateState(**TRIAL)
    stored = stored_and_read(Memory(states={"candidate": state}))
    (candidate,) = [each for each in EXTENSIONS if each.name == "candidate"]
    found = state_of(stored, candidate, NOW)
    assert {name: getattr(found, name) for name in TRIAL} == TRIAL
    assert set(StoredCandidate.__struct_fields__) == {*TRIAL, *History.__struct_fields__}


@pytest.mark.parametrize("name", FIELDS)
def test_a_step_of_the_clock_moves_a_field_and_the_step_back_restores_it(name):
    memory = Memory(**{name: FIELDS[name]})
    stepped = shifted(memory, 3600, EXTENSIONS)
    assert (stepped == memory) is (name in WITHOUT_TIMES)
    assert shifted(stepped, -3600, EXTENSIONS) == memory


@pytest.mark.parametrize("name", STATES)
def test_a_step_of_the_clock_moves_each_time_of_a_state(name):
    """No time of the past is in what another process would read."""
    stepped = shifted(Memory(states={name: STATES[name]}), 1e9, EXTENSIONS)
    text = msgspec.json.encode(history_of(stepped, EXTENSIONS)).decode()
    assert str(int(PAST + 1e9)) in text
    assert str(int(PAST)) not in text.replace(str(int(PAST + 1e9)), "")


@pytest.mark.parametrize("name", sorted(FIELDS.keys() - NOT_STORED.keys()))
def test_a_changed_field_is_stored(name):
    before, after = Memory(), Memory(**{name: FIELDS[name]})
    assert not restores_alike(before, after, EXTENSIONS)
    assert restores_alike(stored_and_read(after), after, EXTENSIONS)


@pytest.mark.parametrize("name", sorted(TRIAL.keys() - SAME_TRIAL.keys() - {"hash"}))
def test_a_changed_field_of_a_trial_is_stored(name):
    before = Memory(states={"candidate": CandidateState(hash="x")})
    after = Memory(states={"candidate": CandidateState(hash="x", **{name: TRIAL[name]})})
    assert not restores_alike(before, after, EXTENSIONS)
