"""Pods that exist only because of a rollout (`podReadiness.rollout`).

During a rolling update a Deployment has up to `maxSurge` pods more than its replicas. Upstream resizes all ready
pods, so the surge pods, and the usage of pods that are starting, raise the count (kubernetes/kubernetes #72775,
#84142, #90461).
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import msgspec

from scaler.algorithm.combine import Recommended
from scaler.algorithm.observed import Pod
from scaler.algorithm.pod_groups import count_ready
from scaler.algorithm.readings import PodSamples, Signal
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType
from scaler.api.extension_spec import RolloutPolicy

# Set by the controllers of Deployments, of Argo Rollouts, and of StatefulSets.
REVISION_LABELS = ("pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash")

_UNKNOWN = datetime.max.replace(tzinfo=UTC)

_RULE = {
    RolloutPolicy.IGNORE_SURGE.value: "pods in excess of the replicas do not count",
    RolloutPolicy.HOLD_UP.value: "nothing is scaled up",
}


class WithoutRollout(msgspec.Struct, frozen=True, kw_only=True):
    """The recommendation without what the rollout adds to it."""

    recommended: Recommended
    remark: Remark


def without_rollout(
    policy: str,
    recommended: Recommended,
    signals: Sequence[Signal],
    pods: Sequence[Pod],
    *,
    replicas: int,
    recommend: Callable[[Sequence[Signal], tuple[Pod, ...]], Recommended],
) -> WithoutRollout:
    """Limit a recommendation above `replicas`, the target's own, to what does not come from a rollout in progress.

    `recommend` evaluates the metrics with fewer pods. A recommendation of fewer replicas stays as it is.
    """
    live = [each for each in pods if _is_live(each)]
    newest = _newest_revision(live)
    if not newest:
        return WithoutRollout(recommended=recommended, remark=_remark(policy, in_progress=False))
    found = recommended
    if recommended.replicas is not None and recommended.replicas > replicas:
        found = (
            msgspec.structs.replace(recommended, replicas=replicas)
            if policy == RolloutPolicy.HOLD_UP
            else _without_surge(recommended, signals, pods, live, newest, replicas, recommend)
        )
    held = recommended.replicas if found.replicas != recommended.replicas else None
    return WithoutRollout(
        recommended=found, remark=_remark(policy, in_progress=True, would_be=held)
    )


def _without_surge(
    recommended: Recommended,
    signals: Sequence[Signal],
    pods: Sequence[Pod],
    live: Sequence[Pod],
    newest: str,
    replicas: int,
    recommend: Callable[[Sequence[Signal], tuple[Pod, ...]], Recommended],
) -> Recommended:
    surge = _surge(live, newest, replicas)
    if not surge or recommended.replicas is None:
        return recommended
    kept = tuple(each for each in pods if each.metadata.name not in surge)
    counted = recommend([_without(each, surge) for each in signals], kept)
    if counted.replicas is None:
        return recommended
    limited = max(replicas, min(recommended.replicas, counted.replicas))
    return msgspec.structs.replace(counted, replicas=limited)


def _surge(live: Sequence[Pod], newest: str, replicas: int) -> frozenset[str]:
    """The names of the pods beyond the target's replicas: first those that are not ready, then those of old revisions."""
    excess = len(live) - replicas
    if excess <= 0:
        return frozenset()
    ranked = sorted(
        live,
        key=lambda each: (
            count_ready((each,)),
            _revision(each) == newest,
            each.metadata.name,
        ),
    )
    return frozenset(each.metadata.name for each in ranked[:excess])


def _without(signal: Signal, names: frozenset[str]) -> Signal:
    if not isinstance(signal.reading, PodSamples):
        return signal
    by_pod = {name: each for name, each in signal.reading.by_pod.items() if name not in names}
    return Signal(signal.metric, PodSamples(by_pod))


def _newest_revision(live: Sequence[Pod]) -> str:
    """The revision of the pod that was created last; empty where all pods are of one revision."""
    created: dict[str, datetime] = {}
    for pod in live:
        time = pod.metadata.creation_timestamp or pod.status.start_time or _UNKNOWN
        revision = _revision(pod)
        created[revision] = max(time, created.get(revision, time))
    if len(created) < 2:
        return ""
    return max(created, key=lambda revision: (created[revision], revision))


def _revision(pod: Pod) -> str:
    for label in REVISION_LABELS:
        if label in pod.metadata.labels:
            return pod.metadata.labels[label]
    return ""


def _is_live(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is None and pod.status.phase not in (
        "Failed",
        "Succeeded",
    )


def _remark(policy: str, *, in_progress: bool, would_be: int | None = None) -> Remark:
    if not in_progress:
        return Remark(
            condition=ConditionType.ROLLOUT_HELD,
            active=False,
            reason="NoRollout",
            message="all pods are of the same revision",
        )
    return Remark(
        condition=ConditionType.ROLLOUT_HELD,
        active=True,
        reason="RolloutInProgress",
        message=f"while pods of several revisions run, {_RULE.get(policy, policy)}",
        detail="" if would_be is None else f"With them, the metrics propose {would_be}.",
        holds=would_be is not None,
    )
