"""How many replicas a usage needs (upstream's `replica_calculator.go`), one function per calculation."""

from collections.abc import Callable, Mapping

import msgspec

from scaler.algorithm.derivation import FillIn, PodGroups
from scaler.algorithm.go_numbers import (
    INT32_MAX,
    ceil,
    divide,
    float_to_int32,
    float_to_int64,
    int64,
)
from scaler.algorithm.policy import Tolerances
from scaler.algorithm.ratio import Usage
from scaler.algorithm.readings import PodSample
from scaler.algorithm.unusable import MetricUnusable
from wire.api.int64 import INT64_MAX

WITHIN_TOLERANCE = "WithinTolerance"
WITHIN_TOLERANCE_AFTER_FILL_IN = "WithinToleranceAfterFillIn"
DIRECTION_CHANGED = "DirectionChanged"
COUNT_AGAINST_DIRECTION = "CountAgainstDirection"


class PerPod(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal made from the pods' samples; `usage` is the first pass, before any fill-in."""

    replicas: int
    usage: Usage
    kept: str = ""
    fill_in: FillIn | None = None


class Whole(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal made from one value for all; `reported_milli` is what the status shows."""

    replicas: int
    ratio: float
    value_milli: int
    reported_milli: int
    kept: str = ""
    ready_pods: int | None = None


def counted_samples(samples: Mapping[str, PodSample], groups: PodGroups) -> dict[str, int]:
    """The samples without those of ignored and unready pods. Raises MetricUnusable when none is left."""
    left_out = {*groups.ignored, *groups.succeeded, *groups.unready}
    counted = {name: each.value_milli for name, each in samples.items() if name not in left_out}
    if not counted:
        raise MetricUnusable("did not receive metrics for targeted pods (pods might be unready)")
    return counted


def replicas_per_pod(
    samples: dict[str, int],
    groups: PodGroups,
    *,
    current: int,
    tolerances: Tolerances,
    measure: Callable[[Mapping[str, int]], Usage],
    missing_on_scale_down: Callable[[str], int],
) -> PerPod:
    """Resize the ready pods by the ratio; with missing or unready pods, check again with assumed values."""
    usage = measure(samples)
    scale_up_with_unready = bool(groups.unready) and usage.ratio > 1.0
    if not scale_up_with_unready and not groups.missing:
        if tolerances.is_within(usage.ratio):
            return PerPod(replicas=current, usage=usage, kept=WITHIN_TOLERANCE)
        # The direction is not checked here: 3 ready of 10 at a ratio of 1.5 need 5.
        return PerPod(replicas=_resized(usage.ratio, len(groups.ready)), usage=usage)

    missing_milli: dict[str, int] | None = None
    if usage.ratio < 1.0:
        missing_milli = {name: missing_on_scale_down(name) for name in groups.missing}
    elif usage.ratio > 1.0:
        missing_milli = dict.fromkeys(groups.missing, 0)
    unready_milli = dict.fromkeys(groups.unready, 0) if scale_up_with_unready else {}
    filled = {**samples, **(missing_milli or {}), **unready_milli}
    second = measure(filled).ratio
    replicas, kept = _with_fill_in(usage.ratio, second, len(filled), current, tolerances)
    fill_in = FillIn(
        missing_milli=missing_milli or None,
        unready_as_zero=scale_up_with_unready,
        usage_ratio=second,
        samples=len(filled),
    )
    return PerPod(replicas=replicas, usage=usage, kept=kept, fill_in=fill_in)


def _with_fill_in(
    first: float, second: float, samples: int, current: int, tolerances: Tolerances
) -> tuple[int, str]:
    """Keep the count when the assumed values remove the reason to change it, or reverse the direction."""
    if tolerances.is_within(second):
        return current, WITHIN_TOLERANCE_AFTER_FILL_IN
    if (first < 1.0 < second) or (second < 1.0 < first):
        return current, DIRECTION_CHANGED
    replicas = _resized(second, samples)
    if (second < 1.0 and replicas > current) or (second > 1.0 and replicas < current):
        return current, COUNT_AGAINST_DIRECTION
    return replicas, ""


def replicas_for_value(
    value_milli: int,
    *,
    target_milli: int,
    current: int,
    tolerances: Tolerances,
    count_ready: Callable[[], int],
) -> Whole:
    """Resize the ready pods by value/target; from zero, the ratio itself is the count.

    `count_ready` may raise MetricUnusable, and is called only outside the tolerance.
    """
    ratio = divide(float(value_milli), float(target_milli))
    if current == 0:
        # Neither tolerance nor cap: this is how a workload leaves zero.
        return Whole(
            replicas=_resized(ratio, 1),
            ratio=ratio,
            value_milli=value_milli,
            reported_milli=value_milli,
        )
    if tolerances.is_within(ratio):
        return Whole(
            replicas=current,
            ratio=ratio,
            value_milli=value_milli,
            reported_milli=value_milli,
            kept=WITHIN_TOLERANCE,
        )
    ready = count_ready()
    return Whole(
        replicas=_capped(ratio * float(ready)),
        ratio=ratio,
        value_milli=value_milli,
        reported_milli=value_milli,
        ready_pods=ready,
    )


def replicas_for_object_average(
    value_milli: int, *, target_milli: int, status_replicas: int, tolerances: Tolerances
) -> Whole:
    """As many replicas as share the object's value at the target each; compared with the scale's *status*."""
    ratio = _shared_ratio(value_milli, target_milli, status_replicas)
    within = tolerances.is_within(ratio)
    return Whole(
        replicas=status_replicas
        if within
        else float_to_int32(ceil(divide(float(value_milli), float(target_milli)))),
        ratio=ratio,
        value_milli=value_milli,
        reported_milli=_share(value_milli, status_replicas),
        kept=WITHIN_TOLERANCE if within else "",
    )


def replicas_for_external_average(
    value_milli: int, *, target_milli: int, status_replicas: int, tolerances: Tolerances
) -> Whole:
    """Like an object's, but capped, and a value at the limit of int64 is reported unchanged."""
    ratio = _shared_ratio(value_milli, target_milli, status_replicas)
    within = tolerances.is_within(ratio)
    return Whole(
        replicas=status_replicas
        if within
        else _capped(ceil(divide(float(value_milli), float(target_milli)))),
        ratio=ratio,
        value_milli=value_milli,
        reported_milli=INT64_MAX
        if float(value_milli) >= float(INT64_MAX)
        else _share(value_milli, status_replicas),
        kept=WITHIN_TOLERANCE if within else "",
    )


def external_sum(values_milli: tuple[int, ...]) -> int:
    """For a Value target: a positive overflow stops at the largest int64, a negative one wraps."""
    total = 0
    for value in values_milli:
        if value > 0 and total > INT64_MAX - value:
            return INT64_MAX
        total = int64(total + value)
    return total


def external_sum_for_average(values_milli: tuple[int, ...]) -> int:
    """For an AverageValue target: upstream treats *any* negative running sum as an overflow."""
    total = 0
    for value in values_milli:
        total = int64(total + value)
        if total < 0:
            return INT64_MAX
    return total


def _resized(ratio: float, pods: int) -> int:
    return float_to_int32(ceil(ratio * float(pods)))


def _capped(replicas: float) -> int:
    return INT32_MAX if replicas > INT32_MAX else float_to_int32(ceil(replicas))


def _shared_ratio(value_milli: int, target_milli: int, status_replicas: int) -> float:
    return divide(float(value_milli), float(target_milli) * float(status_replicas))


def _share(value_milli: int, status_replicas: int) -> int:
    return float_to_int64(ceil(divide(float(value_milli), float(status_replicas))))
