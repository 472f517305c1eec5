"""What the candidate decides: the same stages as for the spec, on the same readings, with its own memory."""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.combine import Recommended, recommend
from scaler.algorithm.decision import Event, EventType
from scaler.algorithm.derivation import CandidateStep
from scaler.algorithm.memory import NOTHING_REMEMBERED, CandidateMemory, Memory
from scaler.algorithm.pod_groups import count_ready
from scaler.algorithm.policy import CandidateRules
from scaler.algorithm.propose import propose
from scaler.algorithm.readings import Signal
from scaler.algorithm.recommendations import held, seeded
from scaler.algorithm.remark import Remark
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import ConditionType
from scaler.extensions.candidate.memory import own_memory, with_own_memory
from scaler.extensions.candidate.progress import Progress, blended, progressed
from scaler.extensions.forecast.floor import Floor
from scaler.extensions.normalize_extended import Target, normalize_extended
from scaler.extensions.scale_to_zero.activity import activity
from scaler.extensions.scale_to_zero.activity_of_metrics import Activity

_NO_ACTIVITY = Activity()


class Blended(msgspec.Struct, frozen=True, kw_only=True):
    """The count that both policies together result in."""

    desired: int
    memory: CandidateMemory
    step: CandidateStep
    remark: Remark
    events: tuple[Event, ...] = ()


def blend(
    rules: CandidateRules,
    memory: Memory,
    signals: Sequence[Signal],
    abort_when: Sequence[Signal],
    workload: Workload,
    *,
    of_spec: int,
    floor: Floor | None,
    now_unix_seconds: float,
) -> Blended:
    """`signals` are those of the candidate's metrics, `of_spec` is what the spec decides."""
    before = memory.candidate or CandidateMemory(hash=rules.hash)
    recommended, desired, own = None, None, before
    if not before.aborted:
        recommended, desired, own = _decided(
            rules, before, signals, workload, floor, now_unix_seconds
        )
    progress = progressed(
        rules,
        own,
        [_value_milli(each, workload) for each in abort_when],
        period_seconds=rules.policy.sync_period_seconds,
        failure="" if desired is not None or recommended is None else recommended.error,
        now_unix_seconds=now_unix_seconds,
    )
    weight = progress.weight_percent
    result = of_spec if desired is None else blended(of_spec, desired, weight)
    step = CandidateStep(
        weight_percent=weight,
        step=min(progress.memory.step + 1, len(rules.steps)),
        steps=len(rules.steps),
        is_shadow=rules.is_shadow,
        problem=progress.message if progress.memory.aborted else "",
        winner="" if recommended is None else recommended.winner_name,
        proposed=None if recommended is None else recommended.replicas,
        desired=desired,
        spec_desired=of_spec,
        result=result,
    )
    return Blended(
        desired=result,
        memory=progress.memory,
        step=step,
        remark=_remark(progress, changes=result != of_spec),
        events=_events(before, progress),
    )


def _decided(
    rules: CandidateRules,
    before: CandidateMemory,
    signals: Sequence[Signal],
    workload: Workload,
    floor: Floor | None,
    now: float,
) -> tuple[Recommended, int | None, CandidateMemory]:
    """The desired count is None if the candidate's metrics do not allow a decision."""
    policy = rules.policy
    memory = seeded(own_memory(before), replicas=workload.spec_replicas, now_unix_seconds=now)
    workload = msgspec.structs.replace(workload, policy=policy)
    remembered = memory.extensions or NOTHING_REMEMBERED
    recommended = recommend(signals, workload, remembered.metrics)
    if recommended.replicas is None:
        return recommended, None, with_own_memory(before, held(memory, policy, now))
    metrics = [each.metric for each in signals]
    found = normalize_extended(
        memory,
        policy,
        Target(
            current=workload.spec_replicas,
            pods=workload.pods,
            ready_pods=0 if policy.panic is None else count_ready(workload.pods),
            activity=_NO_ACTIVITY
            if policy.zero is None
            else activity(metrics, recommended.proposals),
        ),
        recommended=max(0, recommended.replicas),
        records=recommended.records,
        floor=floor,
        now_unix_seconds=now,
    )
    return recommended, found.desired, with_own_memory(before, found.memory)


def _value_milli(signal: Signal, workload: Workload) -> int | None:
    found = propose(signal.metric, signal.reading, workload)
    return None if found.failure is not None else found.derivation.value_milli


def _remark(progress: Progress, *, changes: bool) -> Remark:
    return Remark(
        condition=ConditionType.CANDIDATE_PROGRESSING,
        active=progress.weight_percent > 0,
        reason=progress.reason,
        message=progress.message,
        holds=changes,
    )


def _events(before: CandidateMemory, progress: Progress) -> tuple[Event, ...]:
    """When it is aborted, and when it begins its next step."""
    after = progress.memory
    if after.aborted and not before.aborted:
        message = progress.message
        return (Event(type=EventType.WARNING, reason="CandidateAborted", message=message),)
    if after.step != before.step:
        return (
            Event(type=EventType.NORMAL, reason="CandidateProgressing", message=progress.message),
        )
    return ()
