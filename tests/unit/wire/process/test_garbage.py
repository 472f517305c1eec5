"""Full collections check few objects, and cycles among those that were left out are freed in the end."""

import gc
import sys
import weakref

import pytest

from wire.process.garbage import COLLECTIONS_MAX, GROWTH_RATIO, LONG_SECONDS, Survivors

OBJECTS_OF_LONG = 1_000
IMPORTED = 5 * OBJECTS_OF_LONG


class Heap:
    """A collector with some objects. `collect` is a full collection: it takes time for each object that is not frozen.

    `garbage` are cycles that were frozen while they were in use.
    """

    def __init__(self, objects=IMPORTED):
        self.objects, self.frozen, self.seconds = objects, 0, 0.0
        self.garbage = 0
        self.survivors = Survivors(self, lambda: self.seconds, lambda: self.objects)

    def freeze(self):
        self.frozen = self.objects

    def unfreeze(self):
        self.frozen = 0

    def replace(self, objects):
        """Some of those that are frozen are freed by their reference counts, and there are as many new ones."""
        self.frozen = max(0, self.frozen - objects)

    def collect(self):
        checked = self.objects - self.frozen
        self.survivors.collected("start", {"generation": 2})
        self.seconds += 1.001 * checked * LONG_SECONDS / OBJECTS_OF_LONG
        if not self.frozen:
            self.objects -= self.garbage
            self.garbage = 0
        self.survivors.collected("stop", {"generation": 2})
        return checked


def test_what_exists_at_the_start_is_not_checked():
    heap = Heap()
    heap.objects += 10
    assert heap.collect() == 10


def test_what_survives_a_long_collection_is_not_checked_again():
    heap = Heap()
    heap.objects += OBJECTS_OF_LONG
    assert [heap.collect(), heap.collect()] == [OBJECTS_OF_LONG, 0]


def test_after_a_short_collection_everything_is_checked_again():
    heap = Heap()
    heap.objects += OBJECTS_OF_LONG - 10
    assert [heap.collect(), heap.collect()] == 2 * [OBJECTS_OF_LONG - 10]


@pytest.mark.parametrize("generation", [0, 1])
def test_collections_of_new_objects_freeze_nothing(generation):
    heap = Heap()
    heap.objects += OBJECTS_OF_LONG
    heap.survivors.collected("start", {"generation": generation})
    heap.seconds += 1.0
    heap.survivors.collected("stop", {"generation": generation})
    assert heap.frozen == IMPORTED


def test_a_complete_collection_follows_when_the_program_has_grown_by_half():
    heap = Heap()
    checked = []
    for _ in range(40):
        heap.objects += OBJECTS_OF_LONG
        checked.append(heap.collect())
    complete = [(number, count) for number, count in enumerate(checked) if count > OBJECTS_OF_LONG]
    assert complete == [(3, 9_000), (9, 15_000), (18, 24_000), (32, 38_000)]


def test_objects_that_are_replaced_do_not_cause_a_complete_collection():
    heap = Heap()
    for _ in range(COLLECTIONS_MAX):
        heap.replace(OBJECTS_OF_LONG)
        assert heap.collect() == OBJECTS_OF_LONG


def test_a_complete_collection_follows_at_the_latest_after_a_number_of_long_ones():
    heap = Heap()
    checked = []
    for _ in range(2 * COLLECTIONS_MAX + 2):
        heap.replace(OBJECTS_OF_LONG)
        checked.append(heap.collect())
    complete = [number for number, count in enumerate(checked) if count == heap.objects]
    assert complete == [COLLECTIONS_MAX, 2 * COLLECTIONS_MAX + 1]


def test_after_the_program_has_shrunk_garbage_fills_no_more_than_half_of_what_is_left():
    heap = Heap()
    heap.objects = 10 * IMPORTED
    while heap.collect() < heap.objects:
        heap.replace(OBJECTS_OF_LONG)
    heap.objects = heap.frozen = IMPORTED
    most = 0
    for _ in range(100):
        heap.objects += 100
        heap.garbage += 100
        heap.replace(OBJECTS_OF_LONG)
        most = max(most, heap.objects)
        heap.collect()
    assert most <= GROWTH_RATIO * IMPORTED + 300


def test_the_blocks_that_are_in_use_are_counted_here():
    assert sys.getallocatedblocks() > 0


def test_garbage_that_was_frozen_is_at_most_half_of_what_is_in_use():
    heap = Heap()
    most = 0
    for _ in range(200):
        heap.objects += 100
        heap.replace(OBJECTS_OF_LONG)
        heap.garbage += 100
        most = max(most, heap.objects)
        heap.collect()
    assert GROWTH_RATIO * IMPORTED < most <= GROWTH_RATIO * IMPORTED + 200


class Node:
    pass


def test_a_cycle_that_was_frozen_while_it_was_used_is_freed_by_a_complete_collection():
    """With the real collector, which calls it from inside of a collection."""
    seconds, blocks = 0.0, 1_000

    def busy_seconds():
        nonlocal seconds
        seconds += LONG_SECONDS
        return seconds

    survivors = Survivors(gc, busy_seconds, lambda: blocks)
    gc.callbacks.append(survivors.collected)
    gc.disable()
    try:
        node = Node()
        node.itself = node
        freed = weakref.ref(node)
        gc.collect()
        del node
        gc.collect()
        assert freed() is not None
        blocks = 1_501
        gc.collect()
        assert gc.get_freeze_count() == 0
        gc.collect()
        assert freed() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.callbacks.remove(survivors.collected)
        gc.freeze()  # As tests/conftest.py does.
