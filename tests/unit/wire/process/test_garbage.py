"""Full collections check few objects, and cycles among those that were left out are freed in the end."""

import gc
import weakref

import pytest

from wire.process.garbage import IMPORTED_SECONDS, LONG_SECONDS, Survivors

OBJECTS_OF_LONG = 1_000
IMPORTED = round(OBJECTS_OF_LONG * IMPORTED_SECONDS / LONG_SECONDS)


class Heap:
    """A collector with some objects. `collect` is a full collection: it takes time for each object that is not frozen.

    `garbage` are cycles that were frozen while they were in use.
    """

    def __init__(self, objects=IMPORTED):
        self.objects, self.frozen, self.seconds = objects, 0, 0.0
        self.garbage = 0
        self.survivors = Survivors(self, lambda: self.seconds)

    def freeze(self):
        self.frozen = self.objects

    def unfreeze(self):
        self.frozen = 0

    def get_freeze_count(self):
        return self.frozen

    def collect(self):
        checked, freed = self.objects - self.frozen, 0
        self.survivors.collected("start", {"generation": 2, "collected": 0})
        self.seconds += 1.001 * checked * LONG_SECONDS / OBJECTS_OF_LONG
        if not self.frozen:
            freed, self.garbage = self.garbage, 0
            self.objects -= freed
        self.survivors.collected("stop", {"generation": 2, "collected": freed})
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
    heap.survivors.collected("start", {"generation": generation, "collected": 0})
    heap.seconds += 1.0
    heap.survivors.collected("stop", {"generation": generation, "collected": 0})
    assert heap.frozen == IMPORTED


def test_a_complete_collection_follows_when_as_much_is_new_as_the_last_one_has_checked():
    heap = Heap(IMPORTED)
    checked = []
    for _ in range(40):
        heap.objects += 1_000
        checked.append(heap.collect())
    complete = [(number, count) for number, count in enumerate(checked) if count > 1_000]
    assert complete == [(5, 11_000), (17, 23_000)]


def test_garbage_that_was_frozen_does_not_add_up():
    heap = Heap(IMPORTED)
    most = 0
    for _ in range(200):
        heap.objects += 1_000
        heap.garbage += 1_000
        heap.collect()
        most = max(most, heap.objects)
    assert 2 * IMPORTED < most <= 4 * IMPORTED


class Node:
    pass


def test_a_cycle_that_was_frozen_while_it_was_used_is_freed_by_a_complete_collection():
    """With the real collector, which calls it from inside of a collection."""
    step_seconds = LONG_SECONDS
    seconds = 0.0

    def busy_seconds():
        nonlocal seconds
        seconds += step_seconds
        return seconds

    survivors = Survivors(gc, busy_seconds)
    gc.callbacks.append(survivors.collected)
    gc.disable()
    try:
        node = Node()
        node.itself = node
        freed = weakref.ref(node)
        gc.collect()  # Long by this clock: it is frozen.
        del node
        gc.collect()
        assert freed() is not None
        step_seconds = IMPORTED_SECONDS
        gc.collect()
        assert gc.get_freeze_count() == 0
        gc.collect()
        assert freed() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.callbacks.remove(survivors.collected)
        gc.freeze()  # As tests/conftest.py does.
