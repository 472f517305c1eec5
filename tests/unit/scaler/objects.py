"""Small objects for the tests of the scaler's core: only what a test says differs from the ordinary."""

from collections.abc import Mapping, Sequence

import msgspec
from hypothesis import settings as hypothesis_settings

from scaler.algorithm.decide import decide
from scaler.algorithm.decision import Decision
from scaler.algorithm.effective_policy import effective_policy, policy_of
from scaler.algorithm.extension import Given
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.observed import (
    Container,
    Observed,
    Pod,
    PodCondition,
    PodMetadata,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    ScaleView,
    TargetPods,
)
from scaler.algorithm.plan import plan
from scaler.algorithm.policy import Policy
from scaler.algorithm.readings import PodSample, PodSamples, Reading
from scaler.algorithm.settings import Settings
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerSpec,
    AutoscalerStatus,
    Behavior,
    ContainerResourceMetricSource,
    CrossVersionObjectReference,
    ExternalMetricSource,
    MetricIdentifier,
    MetricSpec,
    MetricTarget,
    ObjectMetricSource,
    PodsMetricSource,
    ResourceMetricSource,
    ScalingPolicy,
    ScalingRules,
)
from scaler.api.history import Recommendation, ScaleEvent
from scaler.extensions import EXTENSIONS
from wire.api.meta import LabelSelector, ObjectMeta, time_from_unix

NOW = 1_000_000.0
LABELS = {"app": "web"}
FLAGS = Settings(extensions=EXTENSIONS)

# The vectors of tests/conformance/scaler go far; these stay quick, and a loaded machine does not fail them.
few_examples = hypothesis_settings(max_examples=30, deadline=None)


def pod(
    name: str,
    *,
    phase: str = "Running",
    ready: str | None = "True",
    started_seconds_ago: float | None = 10_000,
    turned_seconds_ago: float | None = 9_990,
    deleted: bool = False,
    spec: PodSpec | None = None,
) -> Pod:
    """A settled pod with one container that requests one cpu."""
    conditions = ()
    if ready is not None:
        turned = None if turned_seconds_ago is None else time_from_unix(NOW - turned_seconds_ago)
        conditions = (PodCondition(type="Ready", status=ready, last_transition_time=turned),)
    return Pod(
        metadata=PodMetadata(
            name=name,
            namespace="shop",
            labels=LABELS,
            deletion_timestamp=time_from_unix(NOW) if deleted else None,
        ),
        spec=spec or PodSpec(containers=(container("app", cpu="1"),)),
        status=PodStatus(
            phase=phase,
            start_time=None
            if started_seconds_ago is None
            else time_from_unix(NOW - started_seconds_ago),
            conditions=conditions,
        ),
    )


def pods(count: int) -> tuple[Pod, ...]:
    """That many settled pods: web-0, web-1, ..."""
    return tuple(pod(f"web-{index}") for index in range(count))


def container(name: str, *, restart_policy: str | None = None, **requests: str) -> Container:
    """A container with these requests."""
    resources = ResourceRequirements(requests=requests or None)
    return Container(name=name, restart_policy=restart_policy, resources=resources)


def samples(milli_by_pod: Mapping[str, int]) -> PodSamples:
    """A fresh sample for each."""
    return PodSamples({name: sample(value) for name, value in milli_by_pod.items()})


def sample(value_milli: int, *, seconds_ago: float = 0, window_seconds: float = 60) -> PodSample:
    """One reading of one pod."""
    return PodSample(
        value_milli=value_milli,
        sampled_at_unix_seconds=NOW - seconds_ago,
        window_seconds=window_seconds,
    )


def value(amount: str) -> MetricTarget:
    """A Value target."""
    return MetricTarget(type="Value", value=amount)


def average(amount: str) -> MetricTarget:
    """An AverageValue target."""
    return MetricTarget(type="AverageValue", average_value=amount)


def utilization(percent: int) -> MetricTarget:
    """A Utilization target."""
    return MetricTarget(type="Utilization", average_utilization=percent)


def external(
    target: MetricTarget, *, name: str = "queue", selector: LabelSelector | None = None
) -> MetricSpec:
    """An External metric."""
    identifier = MetricIdentifier(name=name, selector=selector)
    return MetricSpec(
        type="External", external=ExternalMetricSource(metric=identifier, target=target)
    )


def of_object(target: MetricTarget, *, name: str = "hits") -> MetricSpec:
    """An Object metric of the Service `front`."""
    source = ObjectMetricSource(
        described_object=CrossVersionObjectReference(kind="Service", name="front"),
        metric=MetricIdentifier(name=name),
        target=target,
    )
    return MetricSpec(type="Object", object=source)


def of_pods(target: MetricTarget, *, name: str = "requests") -> MetricSpec:
    """A Pods metric."""
    source = PodsMetricSource(metric=MetricIdentifier(name=name), target=target)
    return MetricSpec(type="Pods", pods=source)


def resource(target: MetricTarget, *, name: str = "cpu") -> MetricSpec:
    """A Resource metric."""
    return MetricSpec(type="Resource", resource=ResourceMetricSource(name=name, target=target))


def container_resource(target: MetricTarget, *, name: str = "cpu") -> MetricSpec:
    """A ContainerResource metric of the container `app`."""
    source = ContainerResourceMetricSource(name=name, container="app", target=target)
    return MetricSpec(type="ContainerResource", container_resource=source)


def spec(
    *metrics: MetricSpec,
    min_replicas: int | None = 1,
    max_replicas: int = 100,
    behavior: Behavior | None = None,
) -> AutoscalerSpec:
    """What the user wants."""
    return AutoscalerSpec(
        scale_target_ref=CrossVersionObjectReference(
            kind="Deployment", name="web", api_version="apps/v1"
        ),
        min_replicas=min_replicas,
        max_replicas=max_replicas,
        metrics=metrics or (external(average("10")),),
        behavior=behavior,
    )


def autoscaler(of: AutoscalerSpec, *, status: AutoscalerStatus | None = None) -> Autoscaler:
    """shop/web with this spec."""
    metadata = ObjectMeta(name="web", namespace="shop", generation=7)
    return Autoscaler(metadata=metadata, spec=of, status=status)


def observed(
    of: AutoscalerSpec,
    *,
    replicas: int,
    status_replicas: int | None = None,
    status: AutoscalerStatus | None = None,
    selector: str = "app=web",
    rivals: tuple[str, ...] = (),
) -> Observed:
    """The autoscaler and its scale at the start of a reconcile."""
    return Observed(
        autoscaler=autoscaler(of, status=status),
        scale=ScaleView(
            spec_replicas=replicas,
            status_replicas=replicas if status_replicas is None else status_replicas,
            selector=selector,
        ),
        rivals=rivals,
    )


def decided(
    seen: Observed,
    readings: Sequence[Reading],
    *,
    memory: Memory,
    settings: Settings = FLAGS,
    target_pods: tuple[Pod, ...] | None = None,
    controlled_by: tuple[str, ...] = ("shop/web",),
    now: float = NOW,
) -> Decision:
    """Plan and decide, with as many settled pods as replicas, unless said otherwise."""
    planned = plan(seen, memory, settings, now)
    if isinstance(planned, Decision):
        return planned
    if target_pods is None:
        target_pods = pods(planned.turn.scale.spec_replicas)
    return decide(planned, TargetPods(pods=target_pods, controlled_by=controlled_by), readings, now)


def effective(of: AutoscalerSpec, settings: Settings = FLAGS) -> Policy:
    """What applies to the spec now, with the rules of the extensions that it sets."""
    given = Given(
        autoscaler=autoscaler(of), spec=of, settings=settings, inputs={}, moment=Moment(NOW)
    )
    return effective_policy(given)


def workload(
    of: AutoscalerSpec,
    *,
    replicas: int,
    status_replicas: int | None = None,
    target_pods: tuple[Pod, ...] | None = None,
) -> Workload:
    """The target as the formulas see it."""
    return Workload(
        namespace="shop",
        pods=pods(replicas) if target_pods is None else target_pods,
        spec_replicas=replicas,
        status_replicas=replicas if status_replicas is None else status_replicas,
        measured_replicas=replicas,
        policy=policy_of(of, FLAGS),
        moment=Moment(NOW),
    )


def rules(
    *policies: ScalingPolicy,
    window_seconds: int | None = 0,
    select: str | None = "Max",
    tolerance: str | None = None,
) -> ScalingRules:
    """One direction's rules; without policies, a rate that never limits."""
    return ScalingRules(
        stabilization_window_seconds=window_seconds,
        select_policy=select,
        policies=policies or (at_most("Percent", 100_000_000, 15),),
        tolerance=tolerance,
    )


def at_most(type_: str, amount: int, period_seconds: int) -> ScalingPolicy:
    """A policy."""
    return ScalingPolicy(type=type_, value=amount, period_seconds=period_seconds)


def recommended(*entries: tuple[int, float]) -> Memory:
    """A memory of recommendations that were made once: (replicas, seconds ago)."""
    return Memory(
        recommendations=tuple(
            step(replicas, ago) for replicas, ago in sorted(entries, key=lambda each: -each[1])
        )
    )


def step(replicas: int, until_seconds_ago: float, *, lasted_seconds: float = 0) -> Recommendation:
    """One recommendation, and how long it was repeated."""
    return Recommendation(
        replicas=replicas,
        since_unix_seconds=NOW - until_seconds_ago - lasted_seconds,
        until_unix_seconds=NOW - until_seconds_ago,
    )


def events(*entries: tuple[int, float]) -> tuple[ScaleEvent, ...]:
    """Scale events: (replicas changed, seconds ago)."""
    return tuple(
        ScaleEvent(replica_change=change, happened_at_unix_seconds=NOW - ago)
        for change, ago in entries
    )


def replaced(of: AutoscalerSpec, **changes: object) -> AutoscalerSpec:
    """The spec with some fields replaced."""
    return msgspec.structs.replace(of, **changes)


def named(metric: MetricSpec, name: str, **changes: object) -> MetricSpec:
    """The metric with a name, and with fields that only a LoadAutoscaler has."""
    return msgspec.structs.replace(metric, name=name, **changes)
