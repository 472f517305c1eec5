"""What every metric of one look has in common, and what each comes back with."""

import msgspec

from scaler.model.autoscaler import MetricStatus
from scaler.model.derivation import MetricDerivation, Tolerances
from scaler.model.observed import Observed, Pod, ScaleView
from scaler.model.readings import MetricFailed, Reading
from scaler.model.settings import Settings
from scaler.recommend.tolerances import tolerances_of
from scaler.recommend.unusable import MetricUnusable


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """The target of one look, as the formulas see it."""

    namespace: str
    pods: tuple[Pod, ...]
    spec_replicas: int
    status_replicas: int
    tolerances: Tolerances
    settings: Settings
    now_unix_seconds: float


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that could be used; its proposal and its name stand in the derivation."""

    status: MetricStatus
    derivation: MetricDerivation


def subject_of(
    observed: Observed, scale: ScaleView, settings: Settings, now_unix_seconds: float
) -> Subject:
    """Gather what the metrics of one look share."""
    return Subject(
        namespace=observed.autoscaler.metadata.namespace,
        pods=observed.pods,
        spec_replicas=scale.spec_replicas,
        status_replicas=scale.status_replicas,
        tolerances=tolerances_of(observed.autoscaler.spec, settings),
        settings=settings,
        now_unix_seconds=now_unix_seconds,
    )


def unusable_reading(reading: Reading, expected: str) -> MetricUnusable:
    """Why a reading is not the expected one: it failed, or the caller mixed them up."""
    if isinstance(reading, MetricFailed):
        return MetricUnusable(reading.message)
    return MetricUnusable(f"expected {expected}, got {type(reading).__name__}")
