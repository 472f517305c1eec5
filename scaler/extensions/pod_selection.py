"""Only pods that the target owns, by the chain of their controllers (`podSelection: Owned`).

Upstream counts every pod that the selector of the scale matches, also those of a Job or of another Deployment with the
same labels (KEP-5325). Without knowing the owners of all live pods nothing is computed: the average could be that of
other pods.
"""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.owners import INPUT, Owners, owned, selects_owned
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import MetricFailed, PodSamples, Signal
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from wire.api.wording import some


class PodSelection(Extension[str, None]):
    """Its rule is the name of the target. Its input are the `Owners`; a simulation has none, and all of its pods count."""

    name = INPUT
    conditions = (ConditionType.PODS_NOT_OWNED,)

    def rules(self, given: Given, policy: Policy) -> str | None:
        """None for `Labels`."""
        target = given.spec.scale_target_ref
        return f"{target.kind}/{target.name}" if selects_owned(given.spec) else None

    def measured(self, rules: str, turn: Turn) -> Turn:
        """Leave out other pods and their samples; while owners are not known, no metric has a value."""
        owners = turn.inputs.get(self.name)
        if not isinstance(owners, Owners):
            return turn
        if owners.problem:
            failed = MetricFailed(f"the pods of {rules} are not known: {owners.problem}")
            signals = tuple(Signal(each.metric, failed) for each in turn.signals)
            return msgspec.structs.replace(turn, pods=(), signals=signals)
        pods = owned(turn.pods, owners)
        names = {each.metadata.name for each in pods}
        signals = tuple(_only(each, names) for each in turn.signals)
        return msgspec.structs.replace(turn, pods=pods, signals=signals)

    def recommended(self, rules: str, draft: Draft) -> None:
        """Say which pods do not count."""
        turn = draft.turn
        owners = turn.inputs.get(self.name)
        if not isinstance(owners, Owners):
            draft.add(_NOT_READ)
            return
        if owners.problem:
            draft.add(_unknown(rules, owners.problem))
            return
        counted = {each.metadata.name for each in turn.pods}
        others = [each.metadata.name for each in turn.matching_pods]
        draft.add(_left_out(rules, [each for each in others if each not in counted]))


def _only(signal: Signal, names: set[str]) -> Signal:
    if not isinstance(signal.reading, PodSamples):
        return signal
    samples = signal.reading.by_pod.items()
    return Signal(
        signal.metric, PodSamples({name: each for name, each in samples if name in names})
    )


_NOT_READ = Remark(
    condition=ConditionType.PODS_NOT_OWNED,
    active=True,
    reason="OwnersNotRead",
    message="the owners of the pods were not read, so all pods that the selector matches count",
)


def _unknown(target: str, problem: str) -> Remark:
    return Remark(
        condition=ConditionType.PODS_NOT_OWNED,
        active=True,
        reason="OwnersUnknown",
        message=f"no metric is computed, because the pods of {target} are not known: {problem}",
    )


def _left_out(target: str, names: Sequence[str]) -> Remark:
    if not names:
        return Remark(
            condition=ConditionType.PODS_NOT_OWNED,
            active=False,
            reason="AllOwned",
            message=f"{target} owns all pods that its selector matches",
        )
    return Remark(
        condition=ConditionType.PODS_NOT_OWNED,
        active=True,
        reason="OtherPods",
        message=f"pods that the selector matches and {target} does not own do not count",
        detail=f"These are {some(names)}.",
    )
