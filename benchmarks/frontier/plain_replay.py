"""The counts of `benchmarks.traces.replay` for an autoscaler without extensions, in a hundredth of its time.

A frontier has a hundred autoscalers for each load, most of them plain ones. Only for what the policies of this benchmark
have: External metrics with one average value for all, no `behavior`, at least one replica, a decision each minute.
`tests/unit/benchmarks/frontier/test_plain_replay.py` compares it with the decisions of the scaler.
"""

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

# `scaler.algorithm.settings`: --downscale-stabilization, in minutes; `scaler.algorithm.bounds`: the rate of a scale-up.
STABILIZATION_MINUTES = 5
SCALE_UP_FACTOR, SCALE_UP_MIN = 2, 4


class Plain(msgspec.Struct, frozen=True, kw_only=True):
    """The autoscaler and its target. `replicas` is the count at the start."""

    target_milli: int
    tolerance: float
    max_replicas: int
    start_up_minutes: int
    replicas: int


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the metrics have at each minute: the highest value in milli-units, and whether all of them have one."""

    highest_milli: tuple[int | None, ...]
    is_complete: tuple[bool, ...]


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """By minute: the replicas as requested by the decision, and those that were ready when it was made."""

    requested: "array[int]"
    ready: "array[int]"


def seen(metrics: Sequence[Iterable[int | None]]) -> Seen:
    """Of all metrics by minute. With one target for all of them, the highest value makes the highest proposal."""
    minutes = list(zip(*metrics, strict=True))
    known = [[each for each in values if each is not None] for values in minutes]
    return Seen(
        highest_milli=tuple(max(each, default=None) for each in known),
        is_complete=tuple(len(each) == len(metrics) for each in known),
    )


def plain_counts(plain: Plain, values: Seen) -> Counts:
    """Decide each minute."""
    requested, ready_counts = array("i"), array("i")
    pods = _Pods(plain)
    # The recommendations that may still be the highest of the window, as (last minute, replicas).
    window = deque([(0, plain.replicas)])
    for minute, (highest, is_complete) in enumerate(
        zip(values.highest_milli, values.is_complete, strict=True)
    ):
        pods.advance(minute)
        ready_counts.append(pods.ready)
        current = pods.replicas
        proposed = None if highest is None else _proposal(plain, highest, current)
        if proposed is None or (not is_complete and proposed < current):
            # A metric that failed might have proposed more. The last recommendation counts as repeated.
            window[-1] = (minute, window[-1][1])
        else:
            while window and window[0][0] < minute - STABILIZATION_MINUTES:
                window.popleft()
            while window and window[-1][1] <= proposed:
                window.pop()
            window.append((minute, proposed))
            pods.scale_to(_bounded(plain, window[0][1], current), minute)
        requested.append(pods.replicas)
    return Counts(requested=requested, ready=ready_counts)


def _proposal(plain: Plain, value_milli: int, current: int) -> int:
    """As `scaler.algorithm.replicas.replicas_for_external_average`."""
    target = float(plain.target_milli)
    ratio = value_milli / (target * current)
    if 1.0 - plain.tolerance <= ratio <= 1.0 + plain.tolerance:
        return current
    return math.ceil(value_milli / target)


def _bounded(plain: Plain, desired: int, current: int) -> int:
    """As `scaler.algorithm.bounds.bound`."""
    highest = min(plain.max_replicas, max(SCALE_UP_FACTOR * current, SCALE_UP_MIN))
    return max(1, min(desired, highest))


class _Pods:
    """As `kubectl_loadline.backtest.pods.SimulatedPods`, without the pods."""

    def __init__(self, plain: Plain) -> None:
        self._start_up_minutes = plain.start_up_minutes
        self.ready = self.replicas = plain.replicas
        self._starting: deque[tuple[int, int]] = deque()

    def advance(self, minute: int) -> None:
        """The start-ups that end until now."""
        while self._starting and self._starting[0][0] <= minute:
            self.ready += self._starting.popleft()[1]

    def scale_to(self, replicas: int, minute: int) -> None:
        """The newest are removed, so those that are not ready first."""
        if replicas > self.replicas:
            self._starting.append((minute + self._start_up_minutes, replicas - self.replicas))
        surplus = self.replicas - replicas
        while surplus > 0 and self._starting:
            due, count = self._starting.pop()
            if count > surplus:
                self._starting.append((due, count - surplus))
            surplus -= count
        self.replicas = replicas
        self.ready = min(self.ready, replicas)
