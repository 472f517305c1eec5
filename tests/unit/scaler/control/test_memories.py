"""When a memory continues, and when it is stored again although the same would follow from what is stored."""

import math

import msgspec
import pytest

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.restart import TAKE_OVER_SECONDS
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.clock import SYSTEM_CLOCK, Clock
from scaler.cluster.scales import none_listed
from scaler.control.memories import Memories
from scaler.control.record import KeptMemory, Record
from tests.fakes.scaler import FakeKube
from tests.unit.scaler.objects import NOW, decided, observed, recommended, spec

MEMORIES = Memories(FakeKube(), Settings(kind=LOAD_AUTOSCALERS), SYSTEM_CLOCK, listed=none_listed)


def outcome(memory, seconds_max):
    decision = decided(observed(spec(), replicas=3), [ExternalValues((30_000,))], memory=Memory())
    settled = settle(decision, NotNeeded(), NOW)
    return msgspec.structs.replace(settled, memory=memory, stored_seconds_max=seconds_max)


@pytest.mark.parametrize(
    ("seconds_ago", "seconds_max", "is_stored"),
    [
        pytest.param(150, math.inf, False, id="any age"),
        pytest.param(150, 150, False, id="as old as it may become"),
        pytest.param(151, 150, True, id="older"),
    ],
)
def test_an_equal_memory_is_stored_again_when_the_stored_one_is_too_old(
    seconds_ago, seconds_max, is_stored
):
    stored = KeptMemory(
        memory=Memory(), stored=recommended((3, seconds_ago)), clock_difference_seconds=0.0
    )
    found = outcome(recommended((3, 0)), seconds_max)
    assert MEMORIES.must_store(Record(uid="u1", memory=stored), found) is is_stored


def test_another_recommendation_is_stored():
    stored = KeptMemory(memory=Memory(), stored=recommended((3, 15)), clock_difference_seconds=0.0)
    found = outcome(recommended((4, 0)), math.inf)
    assert MEMORIES.must_store(Record(uid="u1", memory=stored), found)


def test_a_memory_of_which_nothing_is_known_to_be_stored_is_stored():
    """After a cancelled reconcile, the record has none."""
    assert MEMORIES.must_store(Record(uid="u1"), outcome(recommended((3, 0)), math.inf))


AUTOSCALER = observed(spec(), replicas=3).autoscaler


@pytest.mark.parametrize(
    ("seconds", "is_current"),
    [
        pytest.param(TAKE_OVER_SECONDS, True, id="another process could not lead meanwhile"),
        pytest.param(600, False, id="another process may have led"),
    ],
)
def test_a_memory_continues_only_after_a_time_in_which_no_other_process_could_lead(
    seconds, is_current
):
    passed = [0.0]
    clock = Clock(now=lambda: NOW + passed[0], monotonic=lambda: passed[0])
    memories = Memories(FakeKube(), Settings(kind=LOAD_AUTOSCALERS), clock, listed=none_listed)
    kept = KeptMemory(memory=Memory(), stored=None, clock_difference_seconds=NOW)
    record = Record(uid="u1", memory=kept, continues_until_seconds=0.0)
    assert not memories.is_current(Record(uid="u1"))
    memories.goes_on(record, AUTOSCALER)
    passed[0] += seconds
    assert memories.is_current(record) is is_current
    memories.goes_on(record, AUTOSCALER)
    assert memories.is_current(record) is is_current, "what was interrupted does not go on"
    passed[0] += seconds
    assert memories.is_current(record) is is_current
