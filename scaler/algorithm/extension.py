"""What a LoadAutoscaler has beyond an HPA: one `Extension` for each idea, applied in the order of one list.

An extension that is not set in a spec has no rules, and none of its other hooks is called. An HPA has none at all.
Its state is its own: it is kept in the memory under its name, and stored under `stored_as`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from scaler.algorithm.memory import Change
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.algorithm.times import past_times, shifted_times
from scaler.api.autoscaler import Autoscaler, AutoscalerSpec, AutoscalerStatus, MetricSpec

if TYPE_CHECKING:
    from scaler.algorithm.decision import PodPatch
    from scaler.algorithm.draft import Draft, Turn
    from scaler.algorithm.settings import Settings

Rules = TypeVar("Rules")
State = TypeVar("State")


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What an extension derives its rules from. `inputs`: what was read for extensions, by their names.

    `states`: the states of extensions, by their names; empty after a restart.
    """

    autoscaler: Autoscaler
    spec: AutoscalerSpec
    settings: "Settings"
    inputs: Mapping[str, Any]
    moment: Moment
    states: Mapping[str, Any] = {}


class Gauge(msgspec.Struct, frozen=True):
    """A metric of the scaler with one sample for each autoscaler: its value in a step, None for no sample."""

    name: str
    help: str
    value: Callable[[Any], float | None]


class Extension(Generic[Rules, State]):
    """Each hook changes nothing unless an extension says otherwise."""

    name: str
    """Of its rules, its state, its input and its step of the derivation."""
    conditions: tuple[str, ...] = ()
    """The conditions that its remarks set, and that nothing sets once its field is removed."""
    stored_as: str = ""
    """The field of its state in the schema of the stored memory; empty if it has none there."""
    stored_beside: bool = False
    """Whether that key is beside those of all other extensions. Only for states that were stored so from the beginning."""
    state_type: Any = None
    """The type of what is stored; None if nothing is."""
    step_type: Any = None
    """The type of its step of the derivation; None if it has none."""
    gauges: Sequence[Gauge] = ()

    def rules(self, given: Given, policy: Policy) -> Rules | None:
        """Its settings at this moment; None if the spec does not have it."""
        raise NotImplementedError

    def due_unix_seconds(self, rules: Rules, moment: Moment) -> float:
        """When the rules change with the time, so that a reconcile is due, however long the period is.

        Now if they change all the time, infinite if they do not change.
        """
        return math.inf

    def policy(self, rules: Rules, policy: Policy) -> Policy:
        """The settings of the algorithm, changed."""
        return policy

    def holds(self, rules: Rules) -> tuple[str, str] | None:
        """Why nothing may be scaled down: a reason for ScalingLimited, and a message."""
        return None

    def suspends(self, rules: Rules, turn: "Turn") -> bool:
        """Whether changes of the replicas are held back now, whatever is decided."""
        return False

    def begin(
        self,
        rules: Rules,
        state: State | None,
        turn: "Turn",
        known_replicas: tuple[int, ...] | None,
    ) -> State | None:
        """The state with which this reconcile starts; None for none.

        `known_replicas` are those of `StoredMemory`, None if the state is this process' own.
        """
        return state

    def remark(self, rules: Rules, state: State | None, turn: "Turn") -> Remark | None:
        """What its condition says until the metrics are read."""
        return None

    def metrics(self, rules: Rules) -> Sequence[MetricSpec]:
        """Metrics to read beside those of the spec."""
        return ()

    def measured(self, rules: Rules, turn: "Turn") -> "Turn":
        """Before any metric is evaluated: `turn.pods` and `turn.signals` are what counts, and as what.

        `turn.scale` is the count from which is decided.
        """
        return turn

    def proposals(self, rules: Rules, draft: "Draft") -> None:
        """After each metric was evaluated: `draft.proposals`."""

    def recommended(self, rules: Rules, draft: "Draft") -> None:
        """After the largest proposal was taken: `draft.recommended`, which may be without a count."""

    def blocked(self, rules: Rules, draft: "Draft") -> None:
        """Instead of all that follows, if the metrics allow no decision."""

    def recommendation(self, rules: Rules, draft: "Draft") -> None:
        """Before stabilization: `draft.replicas` is what will be remembered as recommended."""

    def stabilized(self, rules: Rules, draft: "Draft") -> None:
        """After stabilization, before rates and bounds."""

    def bounded(self, rules: Rules, draft: "Draft") -> None:
        """After rates and bounds."""

    def decided(self, rules: Rules, draft: "Draft") -> None:
        """After the policy has decided, also if something else than `draft.replicas` decides from here on."""

    def final(self, rules: Rules, draft: "Draft") -> None:
        """The last word on what is written, whether metrics, a bound or a failure decided."""

    def pod_annotations(self, rules: Rules, draft: "Draft") -> "tuple[PodPatch, ...]":
        """What to write to pods before a scale-down from `draft.turn.current_replicas` to `draft.replicas`."""
        return ()

    def changed(self, rules: Rules, state: State | None, change: Change) -> State | None:
        """The state after the replicas were changed. A change that is not confirmed is passed again once it is."""
        return state

    def held(
        self, rules: Rules, state: State, now_unix_seconds: float, *, were_read: bool
    ) -> State | None:
        """The state after a reconcile that could recommend nothing; None if it ends.

        `were_read`: whether the metrics were, but too many have failed. Otherwise nothing is known of them.
        """
        return state

    def disabled(self, state: State) -> State | None:
        """The state while the target is at zero without the scaler, so that no metric is read; None if it ends."""
        return None

    def for_other_policy(self, draft: "Draft") -> "Extension[Any, Any] | None":
        """What stands for it while another policy of the same autoscaler decides; None if that has its own."""
        return None

    def status(
        self, rules: Rules, step: Any, policy: Policy, status: AutoscalerStatus
    ) -> AutoscalerStatus:
        """The status with its part. `step` is None where this reconcile has none."""
        return status

    def sentence(self, step: Any, now_unix_seconds: float) -> str | None:
        """Its line of `why`; None for none."""
        return None

    def hold(self, step: Any) -> tuple[str, str] | None:
        """What holds the replicas, for HELD and for the summary, beside what its remark says."""
        return None

    def stored(self, state: State) -> Any:
        """What is stored of the state; None for nothing.

        Another version may read it. A field that it does not know is ignored, and a state that it cannot decode is
        dropped: that extension starts as with a new autoscaler. So a field may be added with a default, and one whose
        meaning or unit changes gets another name. A form without fields, like a digest, contains a version.
        """
        return state

    def restored(self, stored: Any, now_unix_seconds: float) -> State | None:
        """The state after a restart. `stored` has the type `state_type`."""
        return past_times(stored, now_unix_seconds)  # type: ignore[no-any-return]

    def shifted(self, state: State, seconds: float) -> State:
        """The state with the same ages, on a wall clock that was stepped by so much."""
        return shifted_times(state, seconds)

    def restores_alike(self, stored: Any, newer: Any) -> bool:
        """Whether a process that starts from what is `stored` decides like one that starts from what is `newer`."""
        return bool(stored == newer)


class Part(msgspec.Struct, frozen=True):
    """An extension that is set in a spec, and its rules."""

    extension: Extension[Any, Any]
    rules: Any


def parts_of(extensions: Sequence[Extension[Any, Any]], policy: Policy) -> tuple[Part, ...]:
    """Those that are set, in the order in which they apply."""
    if not policy.rules:
        return ()
    return tuple(
        Part(each, policy.rules[each.name]) for each in extensions if each.name in policy.rules
    )
