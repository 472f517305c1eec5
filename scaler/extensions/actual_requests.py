"""Utilization of the requests that pods have while they are resized in place (`podReadiness.requests: Actual`).

Upstream divides by the requests of the spec, which a resize changes before the node does: while a pod still runs with
1 CPU of the 4 that it is to have, its utilization is a quarter of the real one (kubernetes/kubernetes #142155).
"""

import msgspec

from scaler.algorithm.actual_resources import with_actual_requests
from scaler.algorithm.compute import recommend
from scaler.algorithm.draft import Draft, Turn
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.api.extension_spec import RequestsPolicy
from wire.api.wording import some


class ActualRequests(Extension[bool, None]):
    """Replaces the requests of pods whose resize is not complete."""

    name = "actualRequests"
    conditions = (ConditionType.ACTUAL_REQUESTS,)

    def rules(self, given: Given, policy: Policy) -> bool | None:
        """None for `Desired`."""
        readiness = given.spec.pod_readiness
        if readiness is None or readiness.requests != RequestsPolicy.ACTUAL:
            return None
        return True

    def measured(self, rules: bool, turn: Turn) -> Turn:
        """Pods that are not being resized stay the same objects, and share their specs."""
        pods = tuple(with_actual_requests(each) for each in turn.pods)
        return msgspec.structs.replace(turn, pods=pods)

    def recommended(self, rules: bool, draft: Draft) -> None:
        """Say what the requests of the specs would lead to."""
        turn = draft.turn
        matching = {each.metadata.name: each for each in turn.matching_pods}
        desired = tuple(matching.get(each.metadata.name, each) for each in turn.pods)
        resized = [
            pod.metadata.name
            for pod, wanted in zip(turn.pods, desired, strict=True)
            if pod.spec is not wanted.spec
        ]
        if not resized or draft.recommended is None:
            draft.add(_remark([]))
            return
        other = recommend(msgspec.structs.replace(turn, pods=desired), draft.signals).recommended
        would_be = None if other is None else other.replicas
        held = would_be != draft.recommended.replicas
        draft.add(_remark(resized, would_be=would_be, holds=held))


def _remark(resized: list[str], *, would_be: int | None = None, holds: bool = False) -> Remark:
    if not resized:
        return Remark(
            condition=ConditionType.ACTUAL_REQUESTS,
            active=False,
            reason="NoResize",
            message="all pods have the requests of their specs",
        )
    detail = f"These are {some(resized)}."
    if holds:
        proposal = "allow no decision" if would_be is None else f"propose {would_be}"
        detail += f" With the requests of the specs, the metrics {proposal}."
    return Remark(
        condition=ConditionType.ACTUAL_REQUESTS,
        active=True,
        reason="ResizeInProgress",
        message="pods that are not resized yet count with the requests that they have",
        detail=detail,
        holds=holds,
    )
