"""What becomes of a recommendation: a small model of the HPA controller's stabilization, policies and bounds.

As `metrics`, it is written from the documented behavior, and judged by the recorded vectors.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

Document = Mapping[str, Any]


class Recommended(msgspec.Struct, frozen=True):
    """A recommendation from before; `at` in seconds."""

    at: float
    replicas: int


class Changed(msgspec.Struct, frozen=True):
    """A change of the replicas from before: plus or minus so many."""

    at: float
    replicas: int


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """What an autoscaler remembers."""

    recommended: Sequence[Recommended] = ()
    changed: Sequence[Changed] = ()


def normalized(
    wanted: int,
    current: int,
    spec: Document,
    remembered: Remembered,
    *,
    now: float,
    window_seconds: float,
) -> int:
    """The count that is set when the metrics want this one.

    `window_seconds`: --horizontal-pod-autoscaler-downscale-stabilization.
    """
    behavior = spec.get("behavior")
    if behavior is None:
        within = [
            each.replicas for each in remembered.recommended if each.at >= now - window_seconds
        ]
        return _without_behavior(max((wanted, *within)), current, spec)
    up, down = behavior.get("scaleUp") or {}, behavior.get("scaleDown") or {}
    stabilized = _stabilized(
        wanted,
        current,
        _recent(remembered, now - (up.get("stabilizationWindowSeconds") or 0)),
        _recent(remembered, now - _down_window(down, window_seconds)),
    )
    return _limited(stabilized, current, spec, remembered, now)


def _without_behavior(wanted: int, current: int, spec: Document) -> int:
    least, most = _bounds(spec)
    return min(max(wanted, least), most, max(2 * current, 4))


def _bounds(spec: Document) -> tuple[int, int]:
    return spec.get("minReplicas", 1), spec["maxReplicas"]


def _down_window(rules: Document, window_seconds: float) -> float:
    own = rules.get("stabilizationWindowSeconds")
    return math.floor(window_seconds) if own is None else float(own)


def _recent(remembered: Remembered, cutoff: float) -> list[int]:
    return [each.replicas for each in remembered.recommended if each.at > cutoff]


def _stabilized(wanted: int, current: int, for_up: Iterable[int], for_down: Iterable[int]) -> int:
    lowest, highest = min((wanted, *for_up)), max((wanted, *for_down))
    return min(max(current, lowest), highest)


def _limited(wanted: int, current: int, spec: Document, remembered: Remembered, now: float) -> int:
    least, most = _bounds(spec)
    if wanted > current:
        return min(
            wanted, most, limit(current, spec["behavior"]["scaleUp"], remembered, now, up=True)
        )
    if wanted < current:
        return max(
            wanted, least, limit(current, spec["behavior"]["scaleDown"], remembered, now, up=False)
        )
    return wanted


def limit(current: int, rules: Document, remembered: Remembered, now: float, *, up: bool) -> int:
    """How far the policies of one direction let the replicas go."""
    select = rules.get("selectPolicy") or "Max"
    if select == "Disabled":
        return current
    policies: Sequence[Document] = rules["policies"]
    limits = [_of_policy(current, each, remembered, now, up=up) for each in policies]
    farthest = (max if up == (select == "Max") else min)(limits)
    return max(current, farthest) if up else min(current, farthest)


def _of_policy(
    current: int, policy: Document, remembered: Remembered, now: float, *, up: bool
) -> int:
    cutoff: float = now - policy["periodSeconds"]
    start = current - sum(each.replicas for each in remembered.changed if each.at > cutoff)
    value: int = policy["value"]
    if policy["type"] == "Pods":
        return int(start + value if up else start - value)
    if up:
        return math.ceil(start * (1 + value / 100.0))
    return math.trunc(start * (1 - value / 100.0))
