"""A decision in progress: what it is made from, and what it has become so far."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from scaler.algorithm.combine import Recommended
from scaler.algorithm.conditions import Conditions
from scaler.algorithm.decision import Branch, Event
from scaler.algorithm.derivation import Bound, Derivation, Stabilization
from scaler.algorithm.extension import Part
from scaler.algorithm.history import held_with_states, with_states
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import Pod, ScaleView
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import Proposal
from scaler.algorithm.readings import MetricFailed, Signal
from scaler.algorithm.remark import Remark
from scaler.algorithm.settings import Settings
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import Autoscaler, Condition, MetricSpec
from wire.api.labels import Selector

_NOT_READ = MetricFailed("it was not measured")


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What one decision is made from; pods and signals once they are known."""

    autoscaler: Autoscaler
    scale: ScaleView
    settings: Settings
    policy: Policy
    parts: tuple[Part, ...] = ()
    memory: Memory
    """As this decision starts from it."""
    moment: Moment
    branch: Branch = Branch.METRICS
    conditions: tuple[Condition, ...] = ()
    """The whole list as the decision starts from it."""
    inputs: Mapping[str, Any] = {}
    """See `Observed.inputs`."""
    outdated: str | None = None
    """See `Observed.outdated`."""
    period_replicas: int | None = None
    """See `Observed.period_replicas`."""
    was_scaled_to_zero: bool = False
    """Whether it was the controller that scaled to zero, so that it may leave zero again."""
    matching_pods: tuple[Pod, ...] = ()
    """Those that the selector of the target matches."""
    pods: tuple[Pod, ...] = ()
    """Those of them that count, and as what they count."""
    signals: tuple[Signal, ...] = ()

    replicas_of_target: int | None = None
    """Those of the target, where `scale` has the count that one of two policies would have on its own."""

    @property
    def current_replicas(self) -> int:
        """The count from which is decided."""
        return self.scale.spec_replicas

    @property
    def workload(self) -> Workload:
        """The target as the calculation sees it."""
        return Workload(
            namespace=self.autoscaler.metadata.namespace,
            pods=self.pods,
            spec_replicas=self.scale.spec_replicas,
            status_replicas=self.scale.status_replicas,
            measured_replicas=self.scale.spec_replicas
            if self.replicas_of_target is None
            else self.replicas_of_target,
            policy=self.policy,
            moment=self.moment,
        )

    def signals_of(self, metrics: Sequence[MetricSpec]) -> tuple[Signal, ...]:
        """Those of these metrics, in their order."""
        return tuple(
            next(
                (each for each in self.signals if each.metric == metric), Signal(metric, _NOT_READ)
            )
            for metric in metrics
        )


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """The count depends on metrics: read these, of the pods that `selector` matches, then `decide`."""

    turn: Turn
    selector: Selector
    metrics: tuple[MetricSpec, ...]
    """Those of the spec, and after them those that only an extension needs."""


class Draft:
    """Each step of the algorithm, and each extension, reads what the earlier ones left and changes it.

    It belongs to one decision and never leaves the call that makes it.
    """

    def __init__(self, turn: Turn, signals: Sequence[Signal] = ()) -> None:
        self.turn = turn
        self.signals = signals
        self.workload = turn.workload
        self.conditions = Conditions(turn.conditions, turn.moment.now_unix_seconds)
        """The whole list so far."""
        self.proposals: tuple[Proposal, ...] = ()
        self.recommended: Recommended | None = None
        self.replicas = turn.scale.spec_replicas
        """The count so far."""
        self.proposed: int | None = None
        """The recommendation that was stabilized."""
        self.memory = turn.memory
        self.states: dict[str, Any] = dict(turn.memory.states)
        self.steps: dict[str, Any] = {}
        self.stabilization: Stabilization | None = None
        self.bound: Bound | None = None
        self.remarks: dict[str, Remark] = {}
        self.events: list[Event] = []
        self.reason = ""
        """Why the replicas change, if not because of a metric."""
        self.scale_up_reason = ""
        """The same, if they become more."""
        self.ignores_policies = False
        """Whether windows and policies do not limit a scale-up now."""
        self.holds_up = False
        """Whether the target may not get more replicas now."""
        self.zero_is_own = False
        """Whether a zero is the scaler's, although no metric allows it."""
        for part in turn.parts:
            remark = part.extension.remark(part.rules, self.states.get(part.extension.name), turn)
            self.add(remark)

    def add(self, remark: Remark | None) -> None:
        """A remark; it replaces one on the same condition."""
        if remark is not None:
            self.remarks[remark.condition] = remark

    def hold(self, *, were_read: bool) -> None:
        """Nothing can be recommended. `were_read`: as for `Extension.held`."""
        turn = self.turn
        self.memory = held_with_states(
            self.remembered(),
            turn.policy,
            turn.parts,
            turn.moment.now_unix_seconds,
            were_read=were_read,
        )
        self.states = dict(self.memory.states)

    def remembered(self) -> Memory:
        """The memory with the states of the extensions."""
        return with_states(self.memory, self.states)

    def derivation(self) -> Derivation:
        """How it was computed so far."""
        turn, recommended = self.turn, self.recommended
        return Derivation(
            autoscaler=turn.autoscaler.key,
            made_at_unix_seconds=turn.moment.now_unix_seconds,
            branch=turn.branch.value,
            current_replicas=turn.scale.spec_replicas,
            status_replicas=turn.scale.status_replicas,
            min_replicas=turn.policy.min_replicas,
            max_replicas=turn.policy.max_replicas,
            metrics=()
            if recommended is None
            else tuple(each.derivation for each in recommended.proposals),
            winner=None if recommended is None else recommended.winner,
            proposed=self.proposed,
            stabilization=self.stabilization,
            bound=self.bound,
            is_dry_run=turn.policy.is_dry_run,
            remarks=tuple(self.remarks.values()),
            steps=self.steps,
        )
