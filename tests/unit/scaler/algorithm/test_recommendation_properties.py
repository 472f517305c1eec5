"""Steps decide as upstream's slots do: one recommendation per sync, in slots that are reused when too old."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Rules
from scaler.algorithm.stabilization import stabilize, stabilize_with_behavior
from scaler.api.history import History
from tests.unit.scaler.objects import NOW, few_examples

counts = st.integers(0, 12)
# Sync periods and windows whose sums are often equal, so that ages often equal a window exactly.
elapsed = st.sampled_from([1, 5, 15, 15, 15, 30, 60, 100])
windows = st.sampled_from([0, 15, 30, 60, 100, 300])
syncs = st.lists(st.tuples(elapsed, counts), min_size=1, max_size=40)


class Slots:
    """`recommendations` of upstream's controller (stabilizeRecommendation, ...WithBehaviors), line by line."""

    def __init__(self) -> None:
        self.slots: list[tuple[int, float]] = []

    def stabilize(self, desired: int, *, window: float, now: float) -> int:
        maximum, old, cutoff = desired, None, now - window
        for index, (count, made_at) in enumerate(self.slots):
            if made_at < cutoff:
                old = index
            elif count > maximum:
                maximum = count
        self._store(desired, now, old)
        return maximum

    def stabilize_with_behavior(
        self, desired: int, *, current: int, up: float, down: float, now: float
    ) -> int:
        up_recommendation = down_recommendation = desired
        up_cutoff, down_cutoff, old = now - up, now - down, None
        for index, (count, made_at) in enumerate(self.slots):
            if made_at > up_cutoff:
                up_recommendation = min(count, up_recommendation)
            if made_at > down_cutoff:
                down_recommendation = max(count, down_recommendation)
            if made_at < up_cutoff and made_at < down_cutoff:
                old = index
        recommendation = current
        if recommendation < up_recommendation:
            recommendation = up_recommendation
        if recommendation > down_recommendation:
            recommendation = down_recommendation
        self._store(desired, now, old)
        return recommendation

    def _store(self, desired: int, now: float, old: int | None) -> None:
        if old is None:
            self.slots.append((desired, now))
        else:
            self.slots[old] = (desired, now)


def rules(window_seconds: float) -> Rules:
    return Rules(window_seconds=window_seconds, select_policy="Max", policies=())


def with_steps(memory: Memory, desired: int, *, current: int, up: float, down: float, now: float):
    found, memory = stabilize_with_behavior(
        memory,
        current=current,
        recommended=desired,
        up=rules(up),
        down=rules(down),
        moment=Moment(now),
    )
    return found.stabilized, memory


@given(window=windows, syncs=syncs)
def test_without_behavior_steps_decide_exactly_as_slots(window, syncs):
    slots, memory, now = Slots(), Memory(), NOW
    for seconds, desired in syncs:
        now += seconds
        found, memory = stabilize(
            memory, recommended=desired, window_seconds=window, moment=Moment(now)
        )
        assert found.stabilized == slots.stabilize(desired, window=window, now=now)


@given(up=windows, down=windows, syncs=st.lists(st.tuples(elapsed, counts, counts), max_size=40))
def test_with_behavior_steps_decide_exactly_as_slots(up, down, syncs):
    slots, memory, now = Slots(), Memory(), NOW
    for seconds, desired, current in syncs:
        now += seconds
        stabilized, memory = with_steps(memory, desired, current=current, up=up, down=down, now=now)
        assert stabilized == slots.stabilize_with_behavior(
            desired, current=current, up=up, down=down, now=now
        )


@given(
    sizes=st.lists(windows, min_size=1, max_size=4),
    syncs=st.lists(st.tuples(elapsed, counts, counts), max_size=40),
    shares=st.lists(st.integers(0, 39), min_size=4, max_size=4),
)
def test_while_windows_only_get_shorter_steps_decide_exactly_as_slots(sizes, syncs, shares):
    """An edited spec: each window holds from a random sync on."""
    slots, memory, now = Slots(), Memory(), NOW
    starts = sorted(shares)
    falling = sorted(sizes, reverse=True)
    for index, (seconds, desired, current) in enumerate(syncs):
        now += seconds
        window = falling[min(sum(start <= index for start in starts), len(falling) - 1)]
        stabilized, memory = with_steps(
            memory, desired, current=current, up=window, down=window, now=now
        )
        assert stabilized == slots.stabilize_with_behavior(
            desired, current=current, up=window, down=window, now=now
        )


@pytest.mark.deviation("lengthened-windows")
@given(syncs=st.lists(st.tuples(elapsed, counts, windows), max_size=40))
def test_whatever_the_windows_do_a_step_never_holds_what_upstream_has_forgotten(syncs):
    """After a window was shortened, upstream still finds some older recommendations when it grows again."""
    slots, memory, now = Slots(), Memory(), NOW
    for seconds, desired, window in syncs:
        now += seconds
        found, memory = stabilize(
            memory, recommended=desired, window_seconds=window, moment=Moment(now)
        )
        assert found.stabilized <= slots.stabilize(desired, window=window, now=now)


@few_examples
@given(syncs=syncs)
def test_memory_survives_its_json_unchanged(syncs):
    memory, now = Memory(), NOW
    for seconds, desired in syncs:
        now += seconds
        _, memory = stabilize(memory, recommended=desired, window_seconds=300, moment=Moment(now))
    stored = msgspec.json.encode(history_of(memory, ()))
    found = msgspec.json.decode(stored, type=History)
    assert found.recommendations == memory.recommendations
