"""Do not add pods while those that were added do not become ready (`behavior.scaleUp.futility`)."""

from collections.abc import Sequence

import msgspec

from scaler.algorithm.go_numbers import unix_seconds
from scaler.algorithm.observed import Pod
from scaler.algorithm.policy import FutilityRules
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType

NAMES_SHOWN_MAX = 3


class Futility(msgspec.Struct, frozen=True, kw_only=True):
    """The count that remains, and what is reported."""

    replicas: int
    remark: Remark


def futility(
    rules: FutilityRules,
    pods: Sequence[Pod],
    *,
    current: int,
    desired: int,
    now_unix_seconds: float,
) -> Futility:
    """Keep the current count instead of a higher one while too many pods have not become ready in time."""
    stuck = sorted(
        pod.metadata.name
        for pod in pods
        if _is_stuck(pod, now_unix_seconds - rules.ready_timeout_seconds)
    )
    if len(stuck) < rules.max_unready_replicas:
        remark = Remark(
            condition=ConditionType.FUTILE_SCALE_UP,
            active=False,
            reason="PodsBecomeReady",
            message=f"fewer than {rules.max_unready_replicas} pods have been unready for "
            f"{rules.ready_timeout_seconds:g} s",
        )
        return Futility(replicas=desired, remark=remark)
    replicas = min(desired, max(current, 0))
    remark = Remark(
        condition=ConditionType.FUTILE_SCALE_UP,
        active=True,
        reason="PodsNotReady",
        message=f"no scale-up, because {len(stuck)} pods have been unready for "
        f"{rules.ready_timeout_seconds:g} s: {_names(stuck)}",
        detail="" if replicas == desired else f"Without that it would have {desired}.",
        holds=replicas != desired,
    )
    return Futility(replicas=replicas, remark=remark)


def _is_stuck(pod: Pod, before: float) -> bool:
    """Whether it is to become ready, and has not since that time."""
    if pod.metadata.deletion_timestamp is not None or pod.status.phase in ("Failed", "Succeeded"):
        return False
    since = pod.metadata.creation_timestamp or pod.status.start_time
    for condition in pod.status.conditions or ():
        if condition.type == "Ready":
            if condition.status == "True":
                return False
            since = condition.last_transition_time or since
    return since is not None and unix_seconds(since) <= before


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    more = len(names) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
