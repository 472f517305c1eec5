"""What a metric proposes that has failed for some time (`spec.metrics[*].fallback`).

KEDA's counterpart is pkg/fallback/fallback.go. There a fallback begins after a number of failed polls, and
replaces the value of the metric; here it begins after a time, and replaces the proposal.
"""

import zlib
from collections.abc import Sequence
from typing import Final

import msgspec

from scaler.algorithm.decision import Branch
from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import Proposal, propose
from scaler.algorithm.readings import ExternalValues, ObjectValue, Reading, Signal
from scaler.algorithm.remark import Remark
from scaler.algorithm.replicas import external_sum
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import ConditionType, MetricSpec, metrics_of
from scaler.api.extension_spec import FallbackType, MetricFallback
from scaler.api.json_object import JsonObject
from wire.api.meta import time_from_unix
from wire.api.quantity import format_milli

# The CRD's default.
FAILURE_DURATION_SECONDS = 180.0
SAME_SHARE: Final = 0.1
"""A last value is stored again when it has changed by more, as the value in the status is."""
STORED_AGAIN_SECONDS: Final = 600.0
"""A last value that does not change is stored again after this time: after a restart, it may be older by as much."""


class MetricRecord(JsonObject, frozen=True, kw_only=True):
    """What is remembered of a metric that has a fallback. The times are None for never."""

    name: str
    source: str = ""
    """Identifies what is measured, whatever its target is; empty in a memory of an earlier version. Another source has a new record."""
    failing_since_unix_seconds: float | None = None
    last_value_milli: int | None = None
    measured_at_unix_seconds: float | None = None


Records = tuple[MetricRecord, ...]


class Fallback(Extension[bool, Records]):
    """Its only rule is that a metric has one; its state is one record for each that has."""

    name = "fallback"
    conditions = (ConditionType.METRIC_FALLBACK_ACTIVE,)
    stored_as = "metrics"
    state_type = Records

    def rules(self, given: Given, policy: Policy) -> bool | None:
        """None if no metric has the field."""
        return any(each.fallback is not None for each in metrics_of(given.spec)) or None

    def begin(
        self,
        rules: bool,
        state: Records | None,
        turn: Turn,
        known_replicas: tuple[int, ...] | None,
    ) -> Records | None:
        """While another autoscaler scales the target, or its count is outside the bounds, no metric is read."""
        if state is None or turn.branch is Branch.METRICS:
            return state
        return _not_known_to_fail(state)

    def held(
        self, rules: bool, state: Records, now_unix_seconds: float, *, were_read: bool
    ) -> Records:
        """The time of a failure begins again with the next one, if no metric was read meanwhile."""
        return state if were_read else _not_known_to_fail(state)

    def proposals(self, rules: bool, draft: Draft) -> None:
        """Replace those of the metrics that have failed for long enough."""
        known = {each.name: each for each in draft.states.get(self.name) or ()}
        records: list[MetricRecord] = []
        results = list(draft.proposals)
        for index, each in enumerate(draft.signals):
            fallback = each.metric.fallback
            if fallback is None:
                continue
            if draft.turn.current_replicas == 0 and each.metric.of_target is None:
                continue  # There are no pods, so it has not failed.
            name, source = each.metric.name, source_of(each.metric)
            before = known.get(name)
            if before is None or before.source not in ("", source):
                before = MetricRecord(name=name)
            before = msgspec.structs.replace(before, source=source)
            record = _record(before, each, results[index], draft.workload)
            records.append(record)
            if record.failing_since_unix_seconds is not None:
                results[index] = _fallen_back(
                    each.metric, fallback, results[index], record, draft.workload
                )
        draft.proposals = tuple(results)
        draft.states[self.name] = tuple(records)
        draft.add(_remark(draft.signals, results))

    def restores_alike(self, stored: Records | None, newer: Records | None) -> bool:
        """Whether a failure lasts equally long, and one that begins during a restart has nearly the same last value."""
        known = {(each.name, each.source): each for each in stored or ()}
        return _failing(stored or ()) == _failing(newer or ()) and all(
            _has_last_value_of(known.get((each.name, each.source)), each) for each in newer or ()
        )


def _not_known_to_fail(records: Records) -> Records:
    return tuple(msgspec.structs.replace(each, failing_since_unix_seconds=None) for each in records)


def _record(
    known: MetricRecord, signal: Signal, proposal: Proposal, workload: Workload
) -> MetricRecord:
    now = workload.moment.now_unix_seconds
    if proposal.failure is not None:
        since = known.failing_since_unix_seconds
        return msgspec.structs.replace(
            known, failing_since_unix_seconds=now if since is None else since
        )
    value = _whole_value(signal.reading)
    fallback = signal.metric.fallback
    if value is None or fallback is None or fallback.type != FallbackType.LAST_VALUE:
        return MetricRecord(name=known.name, source=known.source)
    return MetricRecord(
        name=known.name,
        source=known.source,
        last_value_milli=value,
        measured_at_unix_seconds=now,
    )


def source_of(metric: MetricSpec) -> str:
    """A checksum of everything but the target."""
    source = metric.of_target or metric.pods or metric.resource or metric.container_resource
    fields = () if source is None else source.__struct_fields__
    measured = [getattr(source, each) for each in fields if each != "target"]
    return f"{zlib.crc32(msgspec.json.encode((metric.type, measured))):08x}"


def _whole_value(reading: Reading) -> int | None:
    """The value for all pods together. The average of a pod says nothing once there are other pods."""
    match reading:
        case ObjectValue(value_milli=value):
            return value
        case ExternalValues(values_milli=values):
            return external_sum(values)
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
    since = record.failing_since_unix_seconds
    given = fallback.failure_duration_seconds
    duration = FAILURE_DURATION_SECONDS if given is None else given
    if since is None or not workload.moment.reached(since + duration):
        return failed
    match fallback.type:
        case FallbackType.HOLD:
            return _instead(failed, fallback.type, since, workload.spec_replicas)
        case FallbackType.REPLICAS if fallback.replicas is not None:
            return _instead(failed, fallback.type, since, fallback.replicas)
        case FallbackType.LAST_VALUE:
            return _by_last_value(metric, fallback, failed, record, since, workload)
        case _:
            return failed


def _by_last_value(
    metric: MetricSpec,
    fallback: MetricFallback,
    failed: Proposal,
    record: MetricRecord,
    since: float,
    workload: Workload,
) -> Proposal:
    """As if the metric still had its last value, unless that is too old."""
    value, measured_at = record.last_value_milli, record.measured_at_unix_seconds
    if value is None or measured_at is None:
        return failed
    oldest = fallback.last_value_max_age_seconds
    if oldest is not None and workload.moment.passed(measured_at + oldest):
        return failed
    reading: Reading = ObjectValue(value) if metric.object else ExternalValues((value,))
    repeated = propose(metric, reading, workload)
    age_seconds = workload.moment.now_unix_seconds - measured_at
    found = repeated.derivation
    sentence = (
        f"{_failed_since(failed, since)} Its last value, {format_milli(value)}, is {age_seconds:.0f} s "
        f"old and still counts: it proposes {_replicas(found.proposal)}."
    )
    return msgspec.structs.replace(
        repeated,
        fallen_back_from=failed.failure,
        derivation=msgspec.structs.replace(
            found, sentence=sentence, failure=failed.derivation.failure
        ),
    )


def _instead(failed: Proposal, type_: str, since: float, replicas: int) -> Proposal:
    sentence = (
        f"{_failed_since(failed, since)} Its fallback ({type_}) proposes {_replicas(replicas)}."
    )
    return Proposal(
        status=failed.status,
        derivation=msgspec.structs.replace(failed.derivation, proposal=replicas, sentence=sentence),
        fallen_back_from=failed.failure,
    )


def _failed_since(failed: Proposal, since: float) -> str:
    found = failed.derivation
    time = time_from_unix(since).isoformat()
    return f"{found.name or found.type} has failed since {time}: {found.failure}."


def _replicas(count: int | None) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def _failing(records: Records) -> dict[tuple[str, str], tuple[int | None, ...]]:
    return {
        (each.name, each.source): (
            _whole(each.failing_since_unix_seconds),
            each.last_value_milli,
            _whole(each.measured_at_unix_seconds),
        )
        for each in records
        if each.failing_since_unix_seconds is not None
    }


def _has_last_value_of(stored: MetricRecord | None, newer: MetricRecord) -> bool:
    """A value that changes by less is not stored each time that it is measured: it only counts while its metric fails."""
    value, at = newer.last_value_milli, newer.measured_at_unix_seconds
    if value is None or at is None:
        return True
    if stored is None or stored.last_value_milli is None or stored.measured_at_unix_seconds is None:
        return False
    change_milli = abs(value - stored.last_value_milli)
    return (
        change_milli <= SAME_SHARE * max(abs(value), abs(stored.last_value_milli))
        and at - stored.measured_at_unix_seconds <= STORED_AGAIN_SECONDS
    )


def _whole(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds)


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
    what = f"metric {metric.name} has failed for too long and"
    match None if metric.fallback is None else metric.fallback.type:
        case FallbackType.LAST_VALUE:
            return f"{what} counts with its last value"
        case FallbackType.HOLD:
            return f"{what} keeps the replicas"
    return f"{what} counts as {proposal.derivation.proposal} replicas"
