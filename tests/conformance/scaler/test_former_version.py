"""A LoadAutoscaler as the version before extensions stored it, with a state of each: an upgrade reads it, and a rollback reads what this version writes.

`former_version.json` was written by commit 8d834bd.
"""

from pathlib import Path

import msgspec
import pytest

from scaler.algorithm.draft import Ask
from scaler.algorithm.history import history_of, state_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.observed import Observed, ScaleView
from scaler.algorithm.plan import plan
from scaler.algorithm.restart import restores_alike
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.history import Remembered, fields_of
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.status import stored_memory
from scaler.extensions import EXTENSIONS
from wire.api import kube_json

BODY = (Path(__file__).parent / "former_version.json").read_bytes()
NOW = 1_000_000.0
SETTINGS = Settings(kind=LOAD_AUTOSCALERS, extensions=EXTENSIONS, scale_to_zero=True)


def stored_history():
    return msgspec.json.decode(BODY)["status"]["history"]


def restored():
    """What this version makes of it, one period later."""
    autoscaler = kube_json.decode(BODY, Autoscaler)
    scale = ScaleView(spec_replicas=7, status_replicas=7, selector="app=web")
    memory = stored_memory(BODY)
    ask = plan(Observed(autoscaler=autoscaler, scale=scale), memory, SETTINGS, NOW)
    assert isinstance(ask, Ask)
    return ask.turn.memory


def test_every_state_is_read():
    memory = restored()
    assert [each.replicas for each in memory.recommendations] == [7, 3]
    assert memory.scale_up_events[0].replica_change == 2
    assert memory.scale_down_events[0].outdated
    assert memory.states["zero"] == NOW - 30
    assert memory.states["panic"].panicking.highest == 9
    (record,) = memory.states["fallback"]
    assert (record.failing_since_unix_seconds, record.last_value_milli) == (NOW - 40, 7000)
    forecast = memory.states["forecast"].state
    assert (len(forecast.levels), forecast.levels.end_minute) == (200, int(NOW // 60))
    candidate = memory.states["candidate"]
    assert (candidate.step, candidate.held_seconds) == (1, 33.0)
    assert candidate.memory.scale_up_events == memory.scale_up_events
    assert candidate.memory.states["zero"] == NOW - 30


def test_it_need_not_be_stored_again():
    memory = stored_memory(BODY)
    assert restores_alike(memory, msgspec.structs.replace(memory, known_replicas=()), EXTENSIONS)


def test_what_this_version_stores_is_what_the_former_one_reads():
    stored = stored_memory(BODY)
    states = {each.name: state_of(stored, each, NOW) for each in EXTENSIONS}
    memory = Memory(
        **fields_of(Remembered, stored.history),
        states={name: state for name, state in states.items() if state is not None},
    )
    encoded = msgspec.json.decode(msgspec.json.encode(history_of(memory, EXTENSIONS)))
    assert encoded == stored_history()


@pytest.mark.parametrize("field", ["forecast", "candidate", "extensions"])
def test_a_state_of_another_version_is_left_out_and_the_others_stay(field):
    history = stored_history()
    history[field] = {"forecast": "another", "candidate": {"rank": 3}}.get(field, {"panic": 3})
    document = msgspec.json.decode(BODY)
    document["status"]["history"] = history
    stored = stored_memory(msgspec.json.encode(document))
    found = {each.name: state_of(stored, each, NOW) for each in EXTENSIONS}
    assert [each.replicas for each in stored.history.recommendations] == [7, 3]
    left_out = {"extensions": "panic"}.get(field, field)
    assert found[left_out] is None
    assert all(found[name] is not None for name in {"forecast", "candidate"} - {field})
