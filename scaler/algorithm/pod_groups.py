"""Which pods count, and how (upstream's `groupPods` and `getReadyPodsCount`)."""

from collections.abc import Mapping, Sequence

from scaler.algorithm.derivation import PodGroups
from scaler.algorithm.go_numbers import unix_seconds
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import Pod, PodCondition
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import PodSample
from scaler.algorithm.unusable import MetricUnusable

CPU = "cpu"


def require_pods(pods: Sequence[Pod]) -> None:
    """Upstream refuses to compute for no pods at all. Raises MetricUnusable."""
    if not pods:
        raise MetricUnusable("no pods returned by selector while calculating replica count")


def group_pods(
    pods: Sequence[Pod],
    samples: Mapping[str, PodSample],
    *,
    resource: str,
    policy: Policy,
    moment: Moment,
) -> PodGroups:
    """Sort every pod into the first group that fits: ignored, succeeded, unready, missing, ready.

    Upstream ignores succeeded pods from 1.38 on (kubernetes/kubernetes #141302). Before, they are mostly missing: they
    have no samples any more.
    """
    ready: list[str] = []
    unready: list[str] = []
    missing: list[str] = []
    ignored: list[str] = []
    succeeded: list[str] = []
    for pod in pods:
        name = pod.metadata.name
        sample = samples.get(name)
        if pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed":
            ignored.append(name)
        elif policy.kind.ignores_succeeded_pods and pod.status.phase == "Succeeded":
            succeeded.append(name)
        elif pod.status.phase == "Pending":
            unready.append(name)
        elif sample is None:
            missing.append(name)
        elif resource == CPU and _cpu_is_unsettled(pod, sample, policy, moment):
            unready.append(name)
        else:
            ready.append(name)
    return PodGroups(
        ready=tuple(ready),
        unready=tuple(unready),
        missing=tuple(missing),
        ignored=tuple(ignored),
        succeeded=tuple(succeeded),
    )


def count_ready(pods: Sequence[Pod]) -> int:
    """Running pods whose Ready condition is True; one that is being deleted still counts."""
    return sum(
        1
        for pod in pods
        if pod.status.phase == "Running"
        and (condition := _ready_condition(pod)) is not None
        and condition.status == "True"
    )


def _cpu_is_unsettled(pod: Pod, sample: PodSample, policy: Policy, moment: Moment) -> bool:
    """Whether the pod's CPU sample says more about its start than about its load."""
    condition, start_time = _ready_condition(pod), pod.status.start_time
    if condition is None or start_time is None:
        return True
    started, turned = unix_seconds(start_time), unix_seconds(condition.last_transition_time)
    is_unready = condition.status == "False"
    if not moment.reached(started + policy.cpu_initialization_period_seconds):
        # It may still be warming up: a whole window must have passed since it turned ready.
        return is_unready or sample.sampled_at_unix_seconds < turned + sample.window_seconds
    # Later on, only a pod that has never been ready is left out.
    return is_unready and started + policy.initial_readiness_delay_seconds > turned


def _ready_condition(pod: Pod) -> PodCondition | None:
    for condition in pod.status.conditions or ():
        if condition.type == "Ready":
            return condition
    return None
