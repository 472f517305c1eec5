"""What the HPA controllers of the supported Kubernetes versions do differently: one named trait for each difference.

No other module compares versions. The facts are those of `pkg/controller/podautoscaler` at 1.35, 1.36.3 and 1.37.2.
Not a trait: until 1.36 a write of the Scale that ended with its context counted as written (`retry.OnError`). The context of
kube-controller-manager ends when it stops, and a scaler that stops reports nothing (interrupted-writes in docs/deviations.md).
"""

import re
from typing import Final

import msgspec


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """The HPA controller of one minor version. A trait is False for the older behavior."""

    minor: int
    """Of Kubernetes 1.`minor`."""
    reconciles_new_at_once: bool = False
    """Whether a new autoscaler is reconciled when it appears (`enqueueHPA`); before, after one period."""
    keeps_generations: bool = False
    """HPAGeneration: whether a changed spec is reconciled at once, and `status.observedGeneration` is written."""
    scales_to_zero: bool = False
    """HPAScaleToZero is on by default: every rescale writes the condition ScaledToZero."""
    skips_outdated_reads: bool = False
    """StaleControllerConsistencyHPA: whether a reconcile waits until the cache has the status that the last one wrote."""
    has_ambiguous_text: bool = False
    """Whether AmbiguousSelector says "more than one HPA (e.g. ...)" instead of "multiple HPAs: ..."."""
    names_two_of_ambiguous: bool = False
    """HPAOptimizedSelectorStore: whether AmbiguousSelector names at most two autoscalers."""
    refuses_unknown: bool = False
    """Whether an autoscaler that is deleted during its reconcile is not scaled any more (`hpaSelectorStore`)."""
    has_object_metric_text: bool = False
    """Whether the error of an Object metric names the metric, the kind and the object in this order."""
    counts_wrapped_spec_errors: bool = False
    """Whether an unknown type of metric counts as `error="spec"` of the reconcile."""


_V1_35: Final = Upstream(minor=35)
_V1_36: Final = msgspec.structs.replace(_V1_35, minor=36)
_V1_37: Final = Upstream(
    minor=37,
    reconciles_new_at_once=True,
    keeps_generations=True,
    scales_to_zero=True,
    skips_outdated_reads=True,
    has_ambiguous_text=True,
    names_two_of_ambiguous=True,
    refuses_unknown=True,
    has_object_metric_text=True,
    counts_wrapped_spec_errors=True,
)
UPSTREAMS: Final = (_V1_35, _V1_36, _V1_37)
"""The supported versions, oldest first."""
OLDEST: Final = UPSTREAMS[0]
NEWEST: Final = UPSTREAMS[-1]

_VERSION = re.compile(r"v?1\.(\d{1,4})(?:[.+].*)?")


def minor_of(version: str) -> int:
    """The minor version in `1.37`, `v1.37.2` or `37+` of a provider. Raises `ValueError` for anything else."""
    found = _VERSION.fullmatch(version.strip())
    if found is None:
        raise ValueError(f"{version!r} is not a Kubernetes version such as 1.37")
    return int(found[1])


def upstream_of(minor: int) -> Upstream:
    """The HPA controller of this minor version; the nearest known one for an older or newer version."""
    known = min(max(minor, OLDEST.minor), NEWEST.minor)
    return next(each for each in UPSTREAMS if each.minor == known)
