"""How much is used against how much should be (upstream's `metrics/utilization.go`)."""

from collections.abc import Mapping

import msgspec

from scaler.algorithm.go_numbers import divide, int32, int64, quotient
from scaler.algorithm.unusable import MetricUnusable


class Usage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A usage ratio, and the numbers that a status shows beside it."""

    ratio: float
    average_milli: int
    utilization_percent: int | None = None


def utilization(
    samples: Mapping[str, int], requests: Mapping[str, int], *, target_percent: int
) -> Usage:
    """Usage against requests, as a whole percentage before it is compared with the target.

    Samples of pods that are not listed do not count. Raises MetricUnusable when nothing is left.
    """
    known = [name for name in samples if name in requests]
    used = int64(sum(samples[name] for name in known))
    requested = int64(sum(requests[name] for name in known))
    if requested == 0:
        raise MetricUnusable("no metrics returned matched known pods")
    percent = int32(quotient(int64(used * 100), requested))
    return Usage(
        ratio=divide(float(percent), float(target_percent)),
        average_milli=quotient(used, len(known)),
        utilization_percent=percent,
    )


def plain_usage(samples: Mapping[str, int], *, target_milli: int) -> Usage:
    """The average of all samples, listed pods or not, against the target."""
    average = quotient(int64(sum(samples.values())), len(samples))
    return Usage(ratio=divide(float(average), float(target_milli)), average_milli=average)
