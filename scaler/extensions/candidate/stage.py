"""The candidate as an extension: the same function decides a second time, with its own policy and memory."""

from collections.abc import Sequence
from typing import Any

import msgspec

from scaler.algorithm.compute import compute
from scaler.algorithm.decision import Branch, Event, EventType
from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.effective_policy import effective_policy
from scaler.algorithm.extension import Extension, Gauge, Given, Part, parts_of
from scaler.algorithm.history import (
    begun_with_states,
    changed_with_states,
    disabled_with_states,
    held_with_states,
    history_of,
)
from scaler.algorithm.memory import AnyMemory, Change, Memory, StoredMemory
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import propose
from scaler.algorithm.readings import Signal
from scaler.algorithm.remark import Remark
from scaler.algorithm.restart import restores_alike, resumed, shifted
from scaler.algorithm.times import past_times, shifted_times
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import AutoscalerStatus, ConditionType, MetricSpec, metrics_of
from scaler.api.candidate import CandidateStatus
from scaler.api.history import History, fields_of
from scaler.extensions.candidate.own_counts import from_count, is_applied, within_policies
from scaler.extensions.candidate.progress import Progress, blended, progressed, waiting_remark
from scaler.extensions.candidate.rules import CandidateRules, candidate_rules, candidate_spec
from scaler.extensions.candidate.state import (
    CandidateState,
    StoredCandidate,
    Trial,
    progress_alike,
)


class CandidateStep(msgspec.Struct, frozen=True, kw_only=True):
    """What the candidate decided beside the spec, and what both together result in. `desired` is None if it failed."""

    weight_percent: int
    step: int
    steps: int
    is_shadow: bool
    problem: str = ""
    winner: str = ""
    proposed: int | None = None
    desired: int | None = None
    spec_desired: int
    result: int


class Candidate(Extension[CandidateRules, CandidateState]):
    """`deciding` are the extensions that a candidate has, too."""

    name = "candidate"
    conditions = (ConditionType.CANDIDATE_PROGRESSING,)
    stored_as = "candidate"
    stored_beside = True
    state_type = StoredCandidate
    step_type = CandidateStep
    gauges = (
        Gauge(
            "candidate_weight_percent",
            "Percentage of the difference between the spec and its candidate that is applied.",
            lambda step: step.weight_percent,
        ),
        Gauge(
            "candidate_replicas",
            "Desired replicas of the candidate in the last decision, also in a dry run.",
            lambda step: step.desired,
        ),
        Gauge(
            "candidate_spec_replicas",
            "Desired replicas of the spec without its candidate in the last decision.",
            lambda step: step.spec_desired,
        ),
    )

    def __init__(self, deciding: tuple[Extension[Any, Any], ...]) -> None:
        self._deciding = deciding

    def rules(self, given: Given, policy: Policy) -> CandidateRules | None:
        """None without the field. The bounds of the moment apply to both."""
        field = given.spec.candidate
        if field is None:
            return None
        own = msgspec.structs.replace(
            given,
            spec=candidate_spec(given.spec, field),
            settings=msgspec.structs.replace(given.settings, extensions=self._deciding),
            inputs={},
            states={},
        )
        decides = msgspec.structs.replace(
            effective_policy(own),
            min_replicas=policy.min_replicas,
            max_replicas=policy.max_replicas,
        )
        return candidate_rules(field, metrics_of(own.spec), decides)

    def metrics(self, rules: CandidateRules) -> Sequence[MetricSpec]:
        """Its own, and those of `abortWhen`."""
        return (*rules.metrics, *rules.abort_metrics)

    def begin(
        self,
        rules: CandidateRules,
        state: CandidateState | None,
        turn: Turn,
        known_replicas: tuple[int, ...] | None,
    ) -> CandidateState:
        """Nothing is remembered of another candidate. The changes of the replicas are those of the spec."""
        if state is None or state.hash != rules.hash:
            memory = msgspec.structs.replace(
                turn.memory, recommendations=None, scaled_to_zero=False, states={}
            )
            state = CandidateState(hash=rules.hash, memory=memory)
        before: AnyMemory = state.memory
        if state.stored is not None:
            before = msgspec.structs.replace(state.stored, known_replicas=known_replicas or ())
        memory = resumed(
            before,
            rules.policy,
            self._parts(rules),
            replicas=turn.current_replicas,
            has_rivals=turn.branch is Branch.SHARED_TARGET,
            now_unix_seconds=turn.moment.now_unix_seconds,
        )
        own = self._turn(rules, turn, memory)
        memory = begun_with_states(own, known_replicas if state.stored is not None else None)
        return msgspec.structs.replace(state, memory=memory, stored=None)

    def measured(self, rules: CandidateRules, turn: Turn) -> Turn:
        """The spec decides from its own count while a part of the difference is applied."""
        state: CandidateState = turn.memory.states[self.name]
        return from_count(turn, state.spec_replicas) if is_applied(state, turn) else turn

    def remark(
        self, rules: CandidateRules, state: CandidateState | None, turn: Turn
    ) -> Remark | None:
        """While nothing is decided by metrics."""
        return waiting_remark(state)

    def blocked(self, rules: CandidateRules, draft: Draft) -> None:
        """The spec decides nothing, so the candidate does not either; it remembers what its own metrics say."""
        before: CandidateState = draft.states[self.name]
        if not before.aborted:
            memory = self._decided(rules, before, draft).remembered()
            draft.states[self.name] = msgspec.structs.replace(before, memory=memory)

    def decided(self, rules: CandidateRules, draft: Draft) -> None:
        """Decide between the count of the spec and that of the candidate."""
        turn, of_spec = draft.turn, draft.replicas
        before: CandidateState = draft.states[self.name]
        own = None if before.aborted else self._decided(rules, before, draft)
        if own is not None and own.proposed is None:
            own.hold(were_read=True)
        desired = None if own is None or own.proposed is None else own.replicas
        recommended = None if own is None else own.recommended
        after = before if own is None else msgspec.structs.replace(before, memory=own.remembered())
        failure = None if desired is not None or recommended is None else recommended.error
        progress = progressed(
            rules,
            after,
            [_value_milli(each, draft.workload) for each in turn.signals_of(rules.abort_metrics)],
            period_seconds=turn.policy.sync_period_seconds,
            failure=failure,
            was_applied=is_applied(before, turn) and not _is_held_back(turn),
            now_unix_seconds=turn.moment.now_unix_seconds,
        )
        weight = progress.weight_percent
        draft.replicas = of_spec if desired is None else blended(of_spec, desired, weight)
        deciding = [draft] if own is None or not weight else [draft, own]
        if _has_own_counts(before, turn, weight) and not any(
            each.ignores_policies for each in deciding
        ):
            policies = [(turn.memory, turn.policy)]
            if weight:
                policies.append((before.memory, rules.policy))
            draft.replicas = within_policies(turn, draft.replicas, policies)
        draft.replicas = _not_left_behind(turn, draft.replicas, deciding)
        if any(each.holds_up for each in deciding):
            draft.replicas = min(draft.replicas, turn.current_replicas)
        draft.states[self.name] = msgspec.structs.replace(
            progress.memory,
            spec_replicas=of_spec,
            candidate_replicas=desired,
            result_replicas=draft.replicas,
        )
        draft.steps[self.name] = CandidateStep(
            weight_percent=weight,
            step=min(progress.memory.step + 1, len(rules.steps)),
            steps=len(rules.steps),
            is_shadow=rules.is_shadow,
            problem=progress.message if progress.memory.aborted else "",
            winner="" if recommended is None else recommended.winner_name,
            proposed=None if recommended is None else recommended.replicas,
            desired=desired,
            spec_desired=of_spec,
            result=draft.replicas,
        )
        draft.add(_remark(progress, changes=draft.replicas != of_spec))
        draft.events += _events(before, progress)
        if draft.replicas != of_spec:
            draft.reason = f"the candidate has a weight of {weight}%"

    def held(
        self,
        rules: CandidateRules,
        state: CandidateState,
        now_unix_seconds: float,
        *,
        were_read: bool,
    ) -> CandidateState:
        """As the spec, while that one's metrics allow no decision."""
        parts = self._parts(rules)
        memory = held_with_states(
            state.memory, rules.policy, parts, now_unix_seconds, were_read=were_read
        )
        return msgspec.structs.replace(state, memory=memory)

    def disabled(self, state: CandidateState) -> CandidateState:
        """The trial goes on, and the states of its own extensions end as those of the spec."""
        memory = disabled_with_states(state.memory, self._deciding)
        return msgspec.structs.replace(state, memory=memory)

    def changed(
        self, rules: CandidateRules, state: CandidateState | None, change: Change
    ) -> CandidateState | None:
        """The policies of a candidate count every change of the replicas, too, also one that is known before `begin`."""
        if state is None:
            return None
        if state.stored is not None:
            stored = msgspec.structs.replace(state.stored, unconfirmed=change)
            return msgspec.structs.replace(state, stored=stored)
        memory = changed_with_states(state.memory, rules.policy, self._parts(rules), change)
        return msgspec.structs.replace(state, memory=memory)

    def status(
        self,
        rules: CandidateRules,
        step: CandidateStep | None,
        policy: Policy,
        status: AutoscalerStatus,
    ) -> AutoscalerStatus:
        """`status.candidate`."""
        if step is None:
            return status
        return msgspec.structs.replace(
            status,
            candidate=CandidateStatus(
                weight_percent=step.weight_percent,
                step=step.step,
                spec_replicas=step.spec_desired,
                candidate_replicas=step.desired,
            ),
        )

    def sentence(self, step: CandidateStep, now_unix_seconds: float) -> str:
        """Both counts, and what they result in."""
        return candidate_sentence(step)

    def stored(self, state: CandidateState) -> StoredCandidate:
        """With the memory of its decisions."""
        history = (
            history_of(state.memory, self._deciding)
            if state.stored is None
            else state.stored.history
        )
        return StoredCandidate(**fields_of(Trial, state), **fields_of(History, history))

    def restored(self, stored: StoredCandidate, now_unix_seconds: float) -> CandidateState:
        """Its memory is a stored one until `begin`."""
        trial = past_times(Trial(**fields_of(Trial, stored)), now_unix_seconds)
        return CandidateState(**fields_of(Trial, trial), stored=StoredMemory(history=stored))

    def shifted(self, state: CandidateState, seconds: float) -> CandidateState:
        """The same ages, also of its decisions."""
        memory = shifted(state.memory, seconds, self._deciding)
        return msgspec.structs.replace(shifted_times(state, seconds), memory=memory)

    def restores_alike(self, stored: StoredCandidate | None, newer: StoredCandidate | None) -> bool:
        """The progress and the memory of its decisions."""
        if stored is None or newer is None:
            return stored is newer
        return progress_alike(stored, newer) and restores_alike(
            StoredMemory(history=stored), StoredMemory(history=newer), self._deciding
        )

    def _parts(self, rules: CandidateRules) -> tuple[Part, ...]:
        return parts_of(self._deciding, rules.policy)

    def _turn(self, rules: CandidateRules, turn: Turn, memory: Memory) -> Turn:
        parts = self._parts(rules)
        return msgspec.structs.replace(turn, policy=rules.policy, memory=memory, parts=parts)

    def _decided(self, rules: CandidateRules, before: CandidateState, draft: Draft) -> Draft:
        """The decision of the candidate; `proposed` is None if its metrics do not allow one."""
        turn = self._turn(rules, draft.turn, before.memory)
        # First, as in the list of extensions: others may hold what they add.
        turn = msgspec.structs.replace(turn, parts=(*_shared(draft), *turn.parts))
        if is_applied(before, draft.turn) and not rules.is_shadow:
            turn = from_count(turn, before.candidate_replicas)
        return compute(turn, turn.signals_of(rules.metrics))


def _is_held_back(turn: Turn) -> bool:
    """Whether the target keeps its count, also if that is what was decided."""
    return turn.policy.is_dry_run or any(
        each.extension.suspends(each.rules, turn) for each in turn.parts
    )


def _has_own_counts(before: CandidateState, turn: Turn, weight_percent: int) -> bool:
    """Whether one of those that decide has decided from another count than that of the target."""
    counts = [before.spec_replicas]
    if weight_percent:
        counts.append(before.candidate_replicas)
    return is_applied(before, turn) and any(
        each not in (None, turn.current_replicas) for each in counts
    )


def _not_left_behind(turn: Turn, replicas: int, deciding: Sequence[Draft]) -> int:
    """Not fewer replicas while all recommend as many as there are: only the policies of one have kept its own count low."""
    current = turn.current_replicas
    if not 0 < replicas < current or any(each.ignores_policies for each in deciding):
        return replicas
    wanted = [each.stabilization.stabilized for each in deciding if each.stabilization is not None]
    return max(replicas, min((current, turn.policy.max_replicas, *wanted)))


def _shared(draft: Draft) -> tuple[Part, ...]:
    """What extensions of the spec do for the candidate, too."""
    found = (part.extension.for_other_policy(draft) for part in draft.turn.parts)
    return tuple(Part(each, True) for each in found if each is not None)


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


def _events(before: CandidateState, progress: Progress) -> tuple[Event, ...]:
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


def candidate_sentence(step: CandidateStep) -> str:
    """Both counts, and what they result in."""
    if step.problem:
        return "Candidate: it is aborted and decides nothing."
    if step.desired is None:
        return (
            f"Candidate: its metrics do not allow a decision, so the spec decides: {step.result}."
        )
    by = f", decided by {step.winner}" if step.winner else ""
    counts = f"Candidate: {_counted(step.desired)}{by}; the spec: {step.spec_desired}"
    if step.is_shadow:
        return f"{counts}. It is only reported, so the result is {step.result}."
    return f"{counts}. The candidate has a weight of {step.weight_percent}%, so the result is {step.result}."


def _counted(replicas: int) -> str:
    return "1 replica" if replicas == 1 else f"{replicas} replicas"
