"""After a target has left zero: its window and its policies, as if another program had added the first replica."""

import pytest

from scaler.algorithm.history import history_of
from scaler.algorithm.memory import StoredMemory
from scaler.api.autoscaler import Behavior
from scaler.api.schedules import ScheduleSpec
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.extensions.scaled_to_zero import (
    ANY,
    AT_ZERO,
    desired,
    of_queue,
    queue,
    scaled,
)
from tests.unit.scaler.objects import (
    at_most,
    average,
    external,
    replaced,
    rules,
    spec,
)

SLOW_UP = Behavior(scale_up=rules(ANY, window_seconds=600), scale_down=rules())
ONE_IN_TEN_MINUTES = Behavior(scale_up=rules(at_most("Pods", 1, 600)), scale_down=rules())
DOUBLE_EACH_MINUTE = Behavior(scale_up=rules(at_most("Percent", 100, 60)), scale_down=rules())


def test_what_was_recommended_at_zero_does_not_hold_a_target_that_has_left_it():
    """The HPA of KEDA does not decide at zero, so nothing from there is in its stabilization window."""
    of = of_queue(behavior=SLOW_UP)
    assert scaled(of, [(queue(0),)] * 40 + [(queue(42),)] * 3)[39:] == [0, 1, 5, 5]


def test_a_stabilization_window_counts_from_the_first_replica_on():
    of = of_queue(behavior=SLOW_UP)
    lengths = [0, 0, 20, 20, 80]
    assert scaled(of, [(queue(each),) for each in lengths]) == [0, 0, 1, 2, 2]


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        pytest.param(ONE_IN_TEN_MINUTES, [1, 2, *[2] * 39, 3], id="pods"),
        pytest.param(DOUBLE_EACH_MINUTE, [1, 2, 2, 2, 2, 4, 4, 4, 4, 8], id="percent"),
    ],
)
def test_the_first_replica_does_not_count_for_policies(behavior, expected):
    """In KEDA, another program than the HPA adds it."""
    of = of_queue(behavior=behavior)
    assert scaled(of, [(queue(0),), *[(queue(200),)] * len(expected)])[1:] == expected


def test_replicas_that_are_added_with_the_first_one_count_for_policies():
    four_a_minute = Behavior(scale_up=rules(at_most("Pods", 4, 60)), scale_down=rules())
    counts = scaled(of_queue(behavior=four_a_minute), [(queue(0),), *[(queue(200),)] * 5])
    assert counts == [0, 4, 5, 5, 5, 8], "as from one replica on"


def test_what_was_recommended_at_zero_does_not_hold_a_target_that_a_schedule_has_started():
    of = of_queue(behavior=SLOW_UP)
    asleep = desired(of, queue(0), memory=AT_ZERO, replicas=0)
    always = ScheduleSpec(name="a", schedule="* * * * *", duration_seconds=3600, min_replicas=2)
    of = replaced(of, schedules=(always,))
    assert scaled(of, [(queue(80),)] * 2, memory=asleep.memory) == [2, 8]


def test_the_first_replica_that_another_process_has_added_does_not_count_either():
    """It died before it could store that, so the count shows it."""
    of = of_queue(behavior=ONE_IN_TEN_MINUTES)
    asleep = desired(of, queue(0), memory=AT_ZERO, replicas=0)
    stored = StoredMemory(history=history_of(asleep.memory, EXTENSIONS), known_replicas=(0,))
    assert desired(of, queue(80), memory=stored, replicas=1).desired_replicas == 2


@pytest.mark.parametrize("behavior", [SLOW_UP, ONE_IN_TEN_MINUTES])
def test_without_the_fields_what_was_recommended_at_zero_counts_as_by_an_hpa(behavior):
    of = spec(external(average("10")), min_replicas=0, max_replicas=20, behavior=behavior)
    assert scaled(of, [(queue(0),)] * 2 + [(queue(42),)] * 3)[2:] == (
        [0, 0, 0] if behavior is SLOW_UP else [1, 1, 1]
    )
