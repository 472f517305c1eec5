"""`spec.candidate` as a policy of its own, and the metrics that it needs beside those of the spec."""

import hashlib

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.policy import Policy
from scaler.api.autoscaler import (
    AbortCondition,
    AutoscalerSpec,
    CandidateSpec,
    ExternalMetricSource,
    MetricSourceType,
    MetricSpec,
    MetricTarget,
    MetricTargetType,
)
from scaler.api.extension_spec import MetricUse, Mode

# The CRD's defaults.
FOR_SECONDS = 120
# Without steps, a candidate is only reported.
_NO_STEPS = ((0, 0.0),)


class AbortRule(msgspec.Struct, frozen=True, kw_only=True):
    """One condition of `abortWhen`; exactly one of `above_milli` and `below_milli` is set."""

    name: str
    above_milli: int | None
    below_milli: int | None
    for_seconds: float


class CandidateRules(msgspec.Struct, frozen=True, kw_only=True):
    """`spec.candidate`: the policy that would result from it, its metrics, and its steps as (percent, seconds)."""

    hash: str
    policy: Policy
    metrics: tuple[MetricSpec, ...]
    abort_metrics: tuple[MetricSpec, ...]
    is_shadow: bool
    steps: tuple[tuple[int, float], ...]
    abort_when: tuple[AbortRule, ...]


def candidate_rules(
    given: CandidateSpec, metrics: tuple[MetricSpec, ...], policy: Policy
) -> CandidateRules:
    """Its steps, and what it needs to decide."""
    steps = tuple((each.weight_percent, float(each.hold_seconds)) for each in given.steps or ())
    return CandidateRules(
        hash=_hash(given),
        policy=policy,
        metrics=metrics,
        abort_metrics=abort_metrics(given),
        is_shadow=given.mode == Mode.DRY_RUN or not steps,
        steps=steps or _NO_STEPS,
        abort_when=tuple(_abort_rule(each) for each in given.abort_when or ()),
    )


def candidate_spec(spec: AutoscalerSpec, given: CandidateSpec) -> AutoscalerSpec:
    """The spec that would result from the candidate."""
    return msgspec.structs.replace(
        spec,
        metrics=spec.metrics if given.metrics is None else given.metrics,
        behavior=spec.behavior if given.behavior is None else given.behavior,
        candidate=None,
    )


def abort_metrics(given: CandidateSpec) -> tuple[MetricSpec, ...]:
    """The metrics of `abortWhen`, in their order. They are only measured, so their targets do not matter."""
    return tuple(
        MetricSpec(
            type=MetricSourceType.EXTERNAL,
            use=MetricUse.INPUT,
            external=ExternalMetricSource(
                metric=each.metric, target=MetricTarget(type=MetricTargetType.VALUE, value="1")
            ),
        )
        for each in given.abort_when or ()
    )


def _hash(given: CandidateSpec) -> str:
    """Of everything but the mode: what was aborted as a candidate is not tried again as a shadow."""
    text = msgspec.json.encode(msgspec.structs.replace(given, mode=""))
    return hashlib.sha256(text).hexdigest()[:16]


def _abort_rule(given: AbortCondition) -> AbortRule:
    return AbortRule(
        name=given.metric.name,
        above_milli=None if given.above is None else milli(given.above),
        below_milli=None if given.below is None else milli(given.below),
        for_seconds=float(FOR_SECONDS if given.for_seconds is None else given.for_seconds),
    )
