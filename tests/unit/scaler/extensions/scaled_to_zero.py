"""Autoscalers with scale to zero, and their decisions one after the other."""

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.api.autoscaler import Behavior
from scaler.api.extension_spec import ScaleToZero
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    average,
    decided,
    external,
    named,
    observed,
    replaced,
    rules,
    spec,
)

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)
ANY = at_most("Pods", 100, 15)
FREE = Behavior(scale_up=rules(ANY), scale_down=rules())
DOWN = MetricFailed("unable to fetch metrics from external metrics API: down")
QUEUE = named(external(average("10")), "queue", activation_value="5")


def queue(length):
    return ExternalValues((length * 1000,))


def of_queue(*metrics, cooldown=120, manual_zero="", behavior=FREE):
    found = spec(*(metrics or (QUEUE,)), min_replicas=0, max_replicas=20, behavior=behavior)
    rules_ = ScaleToZero(cooldown_seconds=cooldown, manual_zero=manual_zero)
    return replaced(found, scale_to_zero=rules_)


def inactive(seconds, **changes):
    return Memory(recommendations=(), states={"zero": NOW - seconds}, **changes)


def desired(of, *readings, memory=None, replicas, status=None):
    memory = Memory(recommendations=()) if memory is None else memory
    return decided(
        observed(of, replicas=replicas, status=status), readings, memory=memory, settings=LA
    )


AT_ZERO = Memory(recommendations=(), scaled_to_zero=True)


def counts_of(of, readings, *, replicas, memory=None, every_seconds=15):
    """The replicas after each reconcile, with these readings one after the other."""
    memory, counts = memory or Memory(recommendations=()), []
    for position, reading in enumerate(readings):
        decision = decided(
            observed(of, replicas=replicas),
            reading,
            memory=memory,
            settings=LA,
            now=NOW + every_seconds * position,
        )
        memory = decision.memory
        if decision.desired_replicas is not None:
            replicas = decision.desired_replicas
        counts.append(replicas)
    return counts


def scaled(of, readings, *, replicas=0, memory=None, every_seconds=15):
    """The replicas after each reconcile, with these readings one after the other; every change is written and remembered."""
    memory, counts = memory or Memory(recommendations=(), scaled_to_zero=replicas == 0), []
    for position, reading in enumerate(readings):
        now = NOW + every_seconds * position
        seen = observed(of, replicas=replicas)
        decision = decided(seen, reading, memory=memory, settings=LA, now=now)
        memory = settle(decision, NotNeeded(), now).memory
        assert isinstance(memory, Memory)
        if decision.desired_replicas is not None:
            replicas = decision.desired_replicas
        counts.append(replicas)
    return counts
