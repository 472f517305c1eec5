"""`spec.candidate` as a policy of its own, and the metrics that it needs beside those of the spec."""

import hashlib

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.decision import CandidateAsk
from scaler.algorithm.memory import CandidateMemory, Memory
from scaler.algorithm.policy import AbortRule, CandidateRules, Policy
from scaler.api.autoscaler import (
    AbortCondition,
    AutoscalerSpec,
    CandidateSpec,
    ExternalMetricSource,
    MetricSourceType,
    MetricSpec,
    MetricTarget,
    MetricTargetType,
    metrics_of,
)
from scaler.api.extension_spec import MetricUse, Mode

# The CRD's defaults.
FOR_SECONDS = 120
# Without steps, a candidate is only reported.
_NO_STEPS = ((0, 0.0),)


def candidate_rules(given: CandidateSpec, policy: Policy) -> CandidateRules:
    """`policy` is that of the spec with the candidate's metrics and behavior in their place."""
    steps = tuple((each.weight_percent, float(each.hold_seconds)) for each in given.steps or ())
    return CandidateRules(
        hash=_hash(given),
        policy=policy,
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
        forecast=None,
        candidate=None,
    )


def with_bounds_of(policy: Policy, of_spec: Policy) -> Policy:
    """Schedules and the minimum apply to both."""
    return msgspec.structs.replace(
        policy,
        min_replicas=of_spec.min_replicas,
        max_replicas=of_spec.max_replicas,
        schedule=of_spec.schedule,
    )


def candidate_ask(spec: AutoscalerSpec) -> tuple[tuple[MetricSpec, ...], CandidateAsk | None]:
    """All metrics to read: those of the spec first, each only once."""
    own = metrics_of(spec)
    given = spec.candidate
    if given is None:
        return own, None
    metrics = list(own)

    def places(needed: tuple[MetricSpec, ...]) -> tuple[int, ...]:
        found = []
        for metric in needed:
            if metric not in metrics:
                metrics.append(metric)
            found.append(metrics.index(metric))
        return tuple(found)

    ask = CandidateAsk(
        of_spec=len(own),
        metrics=places(metrics_of(candidate_spec(spec, given))),
        abort_when=places(tuple(_abort_metric(each) for each in given.abort_when or ())),
    )
    return tuple(metrics), ask


def with_candidate(memory: Memory, rules: CandidateRules | None) -> Memory:
    """What is remembered of this candidate; nothing of another one."""
    known = memory.candidate
    if rules is None:
        if known is None:
            return memory
        return msgspec.structs.replace(memory, candidate=None)
    if known is not None and known.hash == rules.hash:
        return memory
    return msgspec.structs.replace(memory, candidate=CandidateMemory(hash=rules.hash))


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


def _abort_metric(given: AbortCondition) -> MetricSpec:
    """It is only measured, so its target does not matter."""
    return MetricSpec(
        type=MetricSourceType.EXTERNAL,
        use=MetricUse.INPUT,
        external=ExternalMetricSource(
            metric=given.metric, target=MetricTarget(type=MetricTargetType.VALUE, value="1")
        ),
    )
