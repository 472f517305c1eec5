"""What a metric proposes that has failed for some time (`spec.metrics[*].fallback`).

KEDA's counterpart is pkg/fallback/fallback.go. There a fallback begins after a number of failed polls, and
replaces the value of the metric; here it begins after a time, and replaces the proposal.
"""

from collections.abc import Iterable, Sequence

import msgspec

from scaler.algorithm.derivation import FallbackStep
from scaler.algorithm.memory import MetricRecord
from scaler.algorithm.propose import Proposal, propose
from scaler.algorithm.readings import ExternalValues, ObjectValue, Reading, Signal
from scaler.algorithm.remark import Remark
from scaler.algorithm.replicas import external_sum_for_average
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import ConditionType, MetricSpec
from scaler.api.extension_spec import FallbackType, MetricFallback

# The CRD's default.
FAILURE_DURATION_SECONDS = 180.0


class FellBack(msgspec.Struct, frozen=True, kw_only=True):
    """The proposals after the fallbacks, what to remember of the metrics that have one, and what to report."""

    proposals: tuple[Proposal, ...]
    records: tuple[MetricRecord, ...] = ()
    remarks: tuple[Remark, ...] = ()


def with_fallbacks(
    signals: Sequence[Signal],
    proposals: tuple[Proposal, ...],
    records: Iterable[MetricRecord],
    workload: Workload,
) -> FellBack:
    """Replace the proposals of the metrics that have failed for long enough."""
    if all(each.metric.fallback is None for each in signals):
        return FellBack(proposals=proposals)
    known = {each.name: each for each in records}
    remembered: list[MetricRecord] = []
    results = list(proposals)
    for index, each in enumerate(signals):
        fallback = each.metric.fallback
        if fallback is None:
            continue
        name = each.metric.name
        record = _record(known.get(name, MetricRecord(name=name)), each, proposals[index], workload)
        remembered.append(record)
        if record.failing_since_unix_seconds is not None:
            results[index] = _fallen_back(each.metric, fallback, proposals[index], record, workload)
    return FellBack(
        proposals=tuple(results),
        records=tuple(remembered),
        remarks=(_remark(signals, results),),
    )


def _record(
    known: MetricRecord, signal: Signal, proposal: Proposal, workload: Workload
) -> MetricRecord:
    now = workload.now_unix_seconds
    if proposal.failure is not None:
        since = known.failing_since_unix_seconds
        return msgspec.structs.replace(
            known, failing_since_unix_seconds=now if since is None else since
        )
    value = _whole_value(signal.reading)
    if value is None or signal.metric.fallback is None:
        return MetricRecord(name=known.name)
    if signal.metric.fallback.type != FallbackType.LAST_VALUE:
        return MetricRecord(name=known.name)
    return MetricRecord(name=known.name, last_value_milli=value, measured_at_unix_seconds=now)


def _whole_value(reading: Reading) -> int | None:
    """The value for all pods together. The average of a pod says nothing once there are other pods."""
    match reading:
        case ObjectValue(value_milli=value):
            return value
        case ExternalValues(values_milli=values):
            return external_sum_for_average(values)
        case _:
            return None


def _fallen_back(
    metric: MetricSpec,
    fallback: MetricFallback,
    failed: Proposal,
    record: MetricRecord,
    workload: Workload,
) -> Proposal:
    """The proposal in place of a failed one, which it still is before the duration, and with type Fail."""
    now = workload.now_unix_seconds
    since = record.failing_since_unix_seconds
    given = fallback.failure_duration_seconds
    duration = FAILURE_DURATION_SECONDS if given is None else given
    if since is None or now - since < duration:
        return failed
    step = FallbackStep(type=fallback.type, failing_since_unix_seconds=since)
    match fallback.type:
        case FallbackType.HOLD:
            return _instead(failed, step, workload.spec_replicas)
        case FallbackType.REPLICAS if fallback.replicas is not None:
            return _instead(failed, step, fallback.replicas)
        case FallbackType.LAST_VALUE:
            return _by_last_value(metric, fallback, failed, record, step, workload)
        case _:
            return failed


def _by_last_value(
    metric: MetricSpec,
    fallback: MetricFallback,
    failed: Proposal,
    record: MetricRecord,
    step: FallbackStep,
    workload: Workload,
) -> Proposal:
    """As if the metric still had its last value, unless that is too old."""
    value, measured_at = record.last_value_milli, record.measured_at_unix_seconds
    if value is None or measured_at is None:
        return failed
    age = workload.now_unix_seconds - measured_at
    oldest = fallback.last_value_max_age_seconds
    if oldest is not None and age > oldest:
        return failed
    reading: Reading = ObjectValue(value) if metric.object else ExternalValues((value,))
    repeated = propose(metric, reading, workload)
    step = msgspec.structs.replace(step, value_age_seconds=age)
    return msgspec.structs.replace(
        repeated,
        fallen_back_from=failed.failure,
        derivation=msgspec.structs.replace(
            repeated.derivation, fallback=step, failure=failed.derivation.failure
        ),
    )


def _instead(failed: Proposal, step: FallbackStep, replicas: int) -> Proposal:
    return Proposal(
        status=failed.status,
        derivation=msgspec.structs.replace(failed.derivation, proposal=replicas, fallback=step),
        fallen_back_from=failed.failure,
    )


def _remark(signals: Sequence[Signal], proposals: Sequence[Proposal]) -> Remark:
    active = [
        _words(signal.metric, proposal)
        for signal, proposal in zip(signals, proposals, strict=True)
        if proposal.fallen_back_from is not None
    ]
    return Remark(
        condition=ConditionType.METRIC_FALLBACK_ACTIVE,
        active=bool(active),
        reason="MetricFailing" if active else "MetricsAvailable",
        message="; ".join(active) if active else "no metric uses its fallback",
    )


def _words(metric: MetricSpec, proposal: Proposal) -> str:
    step = proposal.derivation.fallback
    if step is not None and step.type == FallbackType.LAST_VALUE:
        return f"metric {metric.name} has failed for too long and counts with its last value"
    if step is not None and step.type == FallbackType.HOLD:
        return f"metric {metric.name} has failed for too long and keeps the replicas"
    proposed = proposal.derivation.proposal
    return f"metric {metric.name} has failed for too long and counts as {proposed} replicas"
