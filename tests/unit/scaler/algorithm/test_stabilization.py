"""What recent recommendations allow."""

import pytest

from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Rules
from scaler.algorithm.stabilization import stabilize, stabilize_with_behavior
from tests.unit.scaler.objects import NOW, recommended


def window(seconds):
    return Rules(window_seconds=seconds, select_policy="Max", policies=())


@pytest.mark.parametrize(
    ("memory", "wanted", "stabilized", "reason"),
    [
        pytest.param(Memory(), 3, 3, "ReadyForNewScale", id="no past"),
        pytest.param(recommended((9, 60)), 3, 9, "ScaleDownStabilized", id="a higher one recently"),
        pytest.param(recommended((9, 300)), 3, 9, "ScaleDownStabilized", id="exactly as old as the window is inside"),
        pytest.param(recommended((9, 301)), 3, 3, "ReadyForNewScale", id="older than the window"),
        pytest.param(recommended((2, 60)), 3, 3, "ReadyForNewScale", id="a lower one does not matter"),
        pytest.param(recommended((5, 9), (9, 99), (7, 60)), 3, 9, "ScaleDownStabilized", id="the highest"),
    ],
)  # fmt: skip
def test_without_behavior_the_highest_of_the_window_holds(memory, wanted, stabilized, reason):
    found, _ = stabilize(memory, recommended=wanted, window_seconds=300, moment=Moment(NOW))
    assert (found.stabilized, found.reason) == (stabilized, reason)


def test_the_deciding_recommendation_is_reported_with_its_time():
    found, _ = stabilize(
        recommended((5, 9), (9, 99)), recommended=3, window_seconds=300, moment=Moment(NOW)
    )
    assert (found.deciding_replicas, found.deciding_made_at_unix_seconds) == (9, NOW - 99)


@pytest.mark.parametrize(
    ("memory", "current", "wanted", "up", "down", "stabilized", "reason"),
    [
        pytest.param(recommended((2, 10)), 5, 9, 60, 0, 5, "ScaleUpStabilized", id="up, but recently less than now: stay"),
        pytest.param(recommended((7, 10)), 5, 9, 60, 0, 7, "ScaleUpStabilized", id="up to the lowest of the window"),
        pytest.param(recommended((7, 60)), 5, 9, 60, 0, 9, "ReadyForNewScale", id="exactly as old as the window is outside"),
        pytest.param(recommended((7, 0.1)), 5, 9, 0, 0, 9, "ReadyForNewScale", id="a window of 0 holds nothing"),
        pytest.param(recommended((4, 10)), 5, 2, 0, 60, 4, "ScaleDownStabilized", id="down to the highest of the window"),
        pytest.param(recommended((9, 10)), 5, 2, 0, 60, 5, "ScaleDownStabilized", id="down, but recently more than now: stay, never up"),
        pytest.param(recommended((9, 10)), 5, 5, 60, 60, 5, "ReadyForNewScale", id="no change"),
    ],
)  # fmt: skip
def test_with_behavior_each_direction_has_its_window(
    memory, current, wanted, up, down, stabilized, reason
):
    found, _ = stabilize_with_behavior(
        memory,
        current=current,
        recommended=wanted,
        up=window(up),
        down=window(down),
        moment=Moment(NOW),
    )
    assert (found.stabilized, found.reason) == (stabilized, reason)
