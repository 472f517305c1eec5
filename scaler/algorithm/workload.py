"""What every metric of one reconcile is computed from, and what each of them results in."""

import msgspec

from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import Pod
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import MetricFailed, Reading
from scaler.algorithm.unusable import MetricUnusable
from scaler.api.autoscaler import MetricStatus


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The target as the calculation sees it: its pods, its replicas, and what applies to it now."""

    namespace: str
    pods: tuple[Pod, ...]
    spec_replicas: int
    status_replicas: int
    measured_replicas: int
    """The count of the target when its pods were measured; `spec_replicas` may be that of one of two policies."""
    policy: Policy
    moment: Moment


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A metric that could be used; its proposal and its name are in the derivation."""

    status: MetricStatus
    derivation: MetricDerivation


def unusable_reading(reading: Reading) -> MetricUnusable:
    """Why there is no value. The `signal` stage lets through what fits the metric, or a `MetricFailed`."""
    message = reading.message if isinstance(reading, MetricFailed) else f"unexpected {reading!r}"
    return MetricUnusable(message)
