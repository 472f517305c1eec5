"""Do not add pods while those that were added do not become ready (`behavior.scaleUp.futility`)."""

import msgspec

from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.go_numbers import unix_seconds
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import Pod
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import Behavior, ConditionType, ScaleUpRules
from wire.api.wording import some

NAMES_SHOWN_MAX = 3
# The CRD's defaults.
READY_TIMEOUT_SECONDS = 300
UNREADY_REPLICAS_MAX = 5


class FutilityRules(msgspec.Struct, frozen=True, kw_only=True):
    """`behavior.scaleUp.futility`."""

    ready_timeout_seconds: float
    max_unready_replicas: int


class Futility(Extension[FutilityRules, None]):
    """Keeps the current count instead of a higher one while too many pods have not become ready in time."""

    name = "futility"
    conditions = (ConditionType.FUTILE_SCALE_UP,)

    def rules(self, given: Given, policy: Policy) -> FutilityRules | None:
        """None without the field."""
        match given.spec.behavior:
            case Behavior(scale_up=ScaleUpRules(futility=futility)) if futility is not None:
                timeout, most = futility.ready_timeout_seconds, futility.max_unready_replicas
                return FutilityRules(
                    ready_timeout_seconds=READY_TIMEOUT_SECONDS if timeout is None else timeout,
                    max_unready_replicas=UNREADY_REPLICAS_MAX if most is None else most,
                )
        return None

    def bounded(self, rules: FutilityRules, draft: Draft) -> None:
        """Last: whatever asks for more pods, those that do not become ready help nothing."""
        turn, desired = draft.turn, draft.replicas
        stuck = sorted(
            pod.metadata.name
            for pod in turn.pods
            if _is_stuck(pod, rules.ready_timeout_seconds, turn.moment)
        )
        if len(stuck) < rules.max_unready_replicas:
            draft.add(
                Remark(
                    condition=ConditionType.FUTILE_SCALE_UP,
                    active=False,
                    reason="PodsBecomeReady",
                    message=f"fewer than {rules.max_unready_replicas} pods have been unready for "
                    f"{rules.ready_timeout_seconds:g} s",
                )
            )
            return
        draft.holds_up = True
        draft.replicas = min(desired, max(turn.current_replicas, 0))
        draft.add(
            Remark(
                condition=ConditionType.FUTILE_SCALE_UP,
                active=True,
                reason="PodsNotReady",
                message=f"no scale-up, because {len(stuck)} pods have been unready for "
                f"{rules.ready_timeout_seconds:g} s: {some(stuck, NAMES_SHOWN_MAX)}",
                detail=""
                if draft.replicas == desired
                else f"Without that, the replica count would be {desired}.",
                holds=draft.replicas != desired,
            )
        )


def _is_stuck(pod: Pod, timeout_seconds: float, moment: Moment) -> bool:
    """Whether it is to become ready, and has not for that long."""
    if pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Failed", "Succeeded"):
        return False
    since = pod.metadata.creation_timestamp or pod.status.start_time
    for condition in pod.status.conditions or ():
        if condition.type == "Ready":
            if condition.status == "True":
                return False
            since = condition.last_transition_time or since
    return since is not None and moment.reached(unix_seconds(since) + timeout_seconds)
