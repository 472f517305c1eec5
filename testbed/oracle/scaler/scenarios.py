"""Random cases from a seed: what an autoscaler can meet, with rare and awkward cases made common."""

from collections.abc import Iterator
from random import Random
from typing import TypeVar

import msgspec

from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerSpec,
    AutoscalerStatus,
    Behavior,
    Condition,
    CrossVersionObjectReference,
    ScaleDownRules,
    ScaleUpRules,
    ScalingPolicy,
    ScalingRules,
)
from testbed.oracle.scaler.cases import (
    START_UNIX_SECONDS,
    Case,
    Entry,
    Flags,
    MetricAnswers,
    Normalization,
    Remembered,
    ScaleAnswer,
    Step,
)
from testbed.oracle.scaler.scenario_metrics import Given, metric_answers, metric_specs
from testbed.oracle.scaler.scenario_pods import SELECTOR, pods
from wire.api.meta import ObjectMeta, time_from_unix

# Late enough for every window and period to have a past.
R = TypeVar("R", bound=ScalingRules)

_FIRST_RECONCILE_SECONDS = 4_000
# At least a second: within one, upstream writes a status again that differs only in fractions, which
# the API server cuts off; we do not.
_ADVANCES_SECONDS = (15, 15, 15, 15, 1, 30, 60, 61, 299, 300, 301, 1.5, 14.25, 1800)
_TARGET = CrossVersionObjectReference(kind="Deployment", name="web", api_version="apps/v1")


def cases(seed: int, *, metrics: int, reconciles: int, normalizations: int) -> Iterator[Case]:
    """That many cases of each mode; the same ones for the same seed."""
    random = Random(seed)  # noqa: S311 - it must be repeatable, not secret
    for _ in range(metrics):
        yield _metrics_case(random)
    for _ in range(reconciles):
        yield _reconcile_case(random)
    for _ in range(normalizations):
        yield _normalize_case(random)


def cases_without_tolerances(seed: int, count: int) -> Iterator[Case]:
    """Reconciles with the gate HPAConfigurableTolerance off, which Kubernetes 1.37 no longer allows."""
    random = Random(seed)  # noqa: S311 - it must be repeatable, not secret
    found = 0
    while found < count:
        case = _reconcile_case(random)
        if any(_has_tolerance(step.autoscaler.spec.behavior) for step in case.steps):
            found += 1
            yield msgspec.structs.replace(
                case, settings=msgspec.structs.replace(case.settings, configurable_tolerance=False)
            )


def _has_tolerance(behavior: Behavior | None) -> bool:
    return behavior is not None and any(
        rules is not None and rules.tolerance is not None
        for rules in (behavior.scale_up, behavior.scale_down)
    )


def _normalize_case(random: Random) -> Case:
    settings = _settings(random)
    spec = _spec(random, settings)
    current = _replicas(random, spec)
    desired = random.choice(
        (current, current - 1, current + 1, 0, random.randrange(200), 2**31 - 1)
    )
    autoscaler = Autoscaler(
        metadata=ObjectMeta(name="web", namespace="shop"),
        spec=msgspec.structs.replace(spec, min_replicas=spec.min_replicas or 0),
    )
    return Case(
        mode="normalize",
        settings=settings,
        memory=_memory(random),
        steps=(Step(at_seconds=float(_FIRST_RECONCILE_SECONDS), autoscaler=autoscaler),),
        normalize=Normalization(current=current, desired=max(0, desired)),
    )


def _metrics_case(random: Random) -> Case:
    settings = _settings(random)
    at_seconds = _FIRST_RECONCILE_SECONDS + random.choice((0, 0.5, random.randrange(1_000)))
    step = _step(random, settings, _spec(random, settings), at_seconds, count=3)
    # The selector's own troubles belong to whole reconciles.
    scale = msgspec.structs.replace(step.scale, error="", selector=SELECTOR)
    step = msgspec.structs.replace(step, scale=scale)
    return Case(mode="metrics", settings=settings, steps=(step,))


def _reconcile_case(random: Random) -> Case:
    settings = _settings(random)
    at_seconds = float(_FIRST_RECONCILE_SECONDS)
    spec = _spec(random, settings)
    # None yet: the object was stored before the API server kept generations.
    generation = random.choice((0, 1, 3, 7))
    steps: list[Step] = []
    for index in range(random.choice((1, 2, 3, 4, 6))):
        if index and random.random() < 0.1:
            spec = msgspec.structs.replace(spec, behavior=_behavior(random))
            generation += 1
        if index and random.random() < 0.1:
            low = random.randrange(1, 6)
            spec = msgspec.structs.replace(
                spec, min_replicas=low, max_replicas=low + random.randrange(20)
            )
            generation += 1
        count = random.choice((1, 1, 1, 2, 3))
        step = _step(random, settings, spec, at_seconds, count=count)
        step = _interrupted(random, _of_generation(step, generation))
        if index and random.random() < 0.8:
            scale = msgspec.structs.replace(step.scale, follow=True)
            step = msgspec.structs.replace(step, scale=scale)
        if index == 0:
            step = _with_past(random, settings, step)
        steps.append(step)
        at_seconds += random.choice(_ADVANCES_SECONDS)
    memory = _memory(random) if random.random() < 0.6 else Remembered()
    return Case(mode="reconcile", settings=settings, memory=memory, steps=tuple(steps))


def _step(
    random: Random, settings: Flags, spec: AutoscalerSpec, at_seconds: float, *, count: int
) -> Step:
    now = START_UNIX_SECONDS + at_seconds
    replicas = _replicas(random, spec)
    target_pods = pods(random, replicas, now, settings)
    given = Given(random=random, pods=target_pods, replicas=replicas, now_unix_seconds=now)
    metrics = metric_specs(random, count)
    answers = metric_answers(given, metrics)
    return Step(
        at_seconds=at_seconds,
        autoscaler=Autoscaler(
            metadata=ObjectMeta(name="web", namespace="shop"),
            spec=msgspec.structs.replace(spec, metrics=metrics),
        ),
        scale=_scale(random, replicas),
        pods=target_pods,
        others=_others(random),
        metrics=answers if random.random() < 0.99 else _silent(answers),
        update_error="Operation cannot be fulfilled" if random.random() < 0.04 else "",
    )


def _of_generation(step: Step, generation: int) -> Step:
    metadata = msgspec.structs.replace(step.autoscaler.metadata, generation=generation)
    return msgspec.structs.replace(
        step, autoscaler=msgspec.structs.replace(step.autoscaler, metadata=metadata)
    )


def _interrupted(random: Random, step: Step) -> Step:
    """Rarely, a reconcile that ends before the target's scale is known, or whose autoscaler is deleted meanwhile."""
    chance = random.random()
    if chance < 0.01:
        return msgspec.structs.replace(
            step, mapping_error='no matches for kind "Deployment" in group "apps"'
        )
    if chance < 0.02:
        target = msgspec.structs.replace(_TARGET, api_version="apps/v1/beta")
        spec = msgspec.structs.replace(step.autoscaler.spec, scale_target_ref=target)
        return msgspec.structs.replace(
            step, autoscaler=msgspec.structs.replace(step.autoscaler, spec=spec)
        )
    return msgspec.structs.replace(step, deleted=chance < 0.03)


def _silent(answers: MetricAnswers) -> MetricAnswers:
    """Every API is down."""
    down = "the server is currently unable to handle the request"
    return MetricAnswers(
        resource=msgspec.structs.replace(answers.resource, error=down),
        custom={
            name: msgspec.structs.replace(each, error=down) for name, each in answers.custom.items()
        },
        external={
            name: msgspec.structs.replace(each, error=down)
            for name, each in answers.external.items()
        },
    )


def _settings(random: Random) -> Flags:
    if random.random() < 0.5:
        return Flags(scale_to_zero=random.random() < 0.3)
    return Flags(
        tolerance=random.choice((0.1, 0.0, 0.05, 0.2, 0.57)),
        downscale_stabilization_seconds=random.choice((300.0, 0.0, 60.0, 90.5)),
        cpu_initialization_period_seconds=random.choice((300.0, 0.0, 120.0)),
        initial_readiness_delay_seconds=random.choice((30.0, 0.0, 10.0)),
        scale_to_zero=random.random() < 0.3,
        pod_level_resources=random.random() < 0.8,
    )


def _spec(random: Random, settings: Flags) -> AutoscalerSpec:
    low = 0 if settings.scale_to_zero and random.random() < 0.5 else random.choice((1, 1, 2, 3))
    return AutoscalerSpec(
        scale_target_ref=_TARGET,
        min_replicas=low if low != 1 or random.random() < 0.8 else None,
        max_replicas=random.choice((max(low, 1), low + 5, low + 10, low + 30, 2**31 - 1)),
        behavior=_behavior(random) if random.random() < 0.6 else None,
    )


def _replicas(random: Random, spec: AutoscalerSpec) -> int:
    low, high = spec.min_replicas or 1, min(spec.max_replicas, 12)
    inside = random.randrange(min(low, high), high + 1)
    return random.choice((inside,) * 12 + (0, 0, 1, high + 3))


def _scale(random: Random, replicas: int) -> ScaleAnswer:
    if random.random() < 0.02:
        return ScaleAnswer(error='deployments/scale.apps "web" not found')
    status = random.choice((replicas,) * 6 + (0, max(0, replicas - 1), replicas + 1, 3))
    selector = SELECTOR
    if random.random() < 0.02:
        selector = random.choice(("", "app in (", "app=web,tier!=db", "=web"))
    return ScaleAnswer(spec=replicas, status=status, selector=selector)


def _others(random: Random) -> dict[str, str]:
    """The selectors of the other autoscalers of the namespace; several may be ambiguous at once."""
    if random.random() < 0.93:
        return {}
    names = ("shop/other", "shop/a", "shop/z")[: random.choice((1, 1, 2, 3))]
    return {name: random.choice((SELECTOR, SELECTOR, "app=nothing", "app")) for name in names}


def _behavior(random: Random) -> Behavior | None:
    """As the API server stores it: every default filled in, but the scale-down window may be left open."""
    if random.random() < 0.1:
        return None
    down_window = random.choice((None, 0, 15, 60, 300))
    return Behavior(
        scale_up=_rules(random, ScaleUpRules, random.choice((0, 0, 15, 60, 300))),
        scale_down=_rules(random, ScaleDownRules, down_window),
    )


def _rules(random: Random, of: type[R], window_seconds: int | None) -> R:
    policies = tuple(
        ScalingPolicy(
            type=random.choice(("Pods", "Percent")),
            value=random.choice((1, 2, 4, 5, 10, 33, 50, 90, 100, 110, 200, 2**31 - 1)),
            period_seconds=random.choice((1, 15, 15, 60, 120, 300, 1800)),
        )
        for _ in range(random.choice((1, 1, 2, 3)))
    )
    return of(
        stabilization_window_seconds=window_seconds,
        select_policy=random.choice(("Max", "Max", "Min", "Disabled")),
        policies=policies,
        tolerance=random.choice((None, None, None, "0", "50m", "300m", "570m", "1")),
    )


def _memory(random: Random) -> Remembered:
    """A past whose ages often equal a window or period exactly."""

    def entries(most: int, highest: int) -> tuple[Entry, ...]:
        return tuple(
            Entry(
                replicas=random.randrange(1, highest),
                at_seconds=_FIRST_RECONCILE_SECONDS
                - random.choice((1, 14, 15, 16, 59, 60, 61, 120, 299, 300, 301, 1800, 3000)),
                outdated=False,
            )
            for _ in range(random.randrange(most))
        )

    return Remembered(
        recommendations=entries(6, 15),
        scale_up_events=entries(4, 6),
        scale_down_events=entries(4, 6),
    )


def _with_past(random: Random, settings: Flags, step: Step) -> Step:
    """An autoscaler that has a status already; one that scaled to zero remembers it there."""
    at_zero = settings.scale_to_zero and step.scale.spec == 0
    if not at_zero and random.random() < 0.5:
        return step
    before = time_from_unix(START_UNIX_SECONDS + 1_000)
    conditions = [
        Condition(
            type="AbleToScale",
            status=random.choice(("True", "False")),
            last_transition_time=before,
            reason="SucceededGetScale",
            message="the HPA controller was able to get the target's current scale",
        )
    ]
    if random.random() < (0.9 if at_zero else 0.2):
        conditions.append(
            Condition(
                type="ScaledToZero",
                status="True" if random.random() < 0.8 else "False",
                last_transition_time=before,
                reason="ScaledToZero",
                message="the HPA controller scaled the workload to zero",
            )
        )
    status = AutoscalerStatus(
        observed_generation=random.choice((None, 3)),
        last_scale_time=random.choice((None, before)),
        current_replicas=random.randrange(5),
        desired_replicas=random.randrange(5),
        conditions=tuple(conditions),
    )
    return msgspec.structs.replace(
        step, autoscaler=msgspec.structs.replace(step.autoscaler, status=status)
    )
