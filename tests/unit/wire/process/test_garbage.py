"""Full collections check few objects, and cycles among those that were left out are freed in the end."""

import gc
import weakref

import pytest

from wire.process.garbage import LONG_SECONDS, Survivors


class Heap:
    """A collector with some objects. `collect` is a full collection: it takes time for each object that is not frozen.

    `garbage` are cycles that were frozen while they were in use.
    """

    def __init__(self, objects):
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
        checked = self.objects - self.frozen
        self.survivors.collected("start", {"generation": 2})
        self.seconds += 1.001 * checked * LONG_SECONDS / 1_000
        if not self.frozen:
            self.objects -= self.garbage
            self.garbage = 0
        self.survivors.collected("stop", {"generation": 2})
        return checked


def test_what_exists_at_the_start_is_not_checked():
    heap = Heap(50_000)
    heap.objects += 10
    assert heap.collect() == 10


def test_what_survives_a_long_collection_is_not_checked_again():
    heap = Heap(50_000)
    heap.objects += 1_000
    assert [heap.collect(), heap.collect()] == [1_000, 0]


def test_after_a_short_collection_everything_is_checked_again():
    heap = Heap(50_000)
    heap.objects += 999
    assert [heap.collect(), heap.collect()] == [999, 999]


@pytest.mark.parametrize("generation", [0, 1])
def test_collections_of_new_objects_freeze_nothing(generation):
    heap = Heap(50_000)
    heap.objects += 1_000
    heap.survivors.collected("start", {"generation": generation})
    heap.seconds += 1.0
    heap.survivors.collected("stop", {"generation": generation})
    assert heap.frozen == 50_000


def test_when_twice_as_many_are_frozen_the_next_collection_is_complete_and_then_counts():
    heap = Heap(10_000)
    checked = []
    for _ in range(40):
        heap.objects += 1_000
        checked.append(heap.collect())
    complete = [count for count in checked if count > 1_000]
    assert complete == [22_000, 46_000]


def test_garbage_that_was_frozen_does_not_add_up():
    heap = Heap(10_000)
    most = 0
    for _ in range(100):
        heap.objects += 1_000
        heap.garbage += 1_000
        heap.collect()
        most = max(most, heap.objects)
    assert 20_000 < most <= 22_000


class Node:
    pass


class RealCollector:
    """The module `gc`, with these numbers of frozen objects."""

    freeze = staticmethod(gc.freeze)
    unfreeze = staticmethod(gc.unfreeze)

    def __init__(self, *counts):
        self.counts = iter(counts)

    def get_freeze_count(self):
        return next(self.counts)


def test_a_cycle_that_was_frozen_while_it_was_used_is_freed_by_a_complete_collection():
    seconds = iter(range(100))
    survivors = Survivors(RealCollector(10, 15, 15, 21, 12), lambda: float(next(seconds)))
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
        gc.collect()
        assert gc.get_freeze_count() == 0
        gc.collect()
        assert freed() is None
        assert gc.get_freeze_count() > 0
    finally:
        gc.enable()
        gc.callbacks.remove(survivors.collected)
        gc.unfreeze()
