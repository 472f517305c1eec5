"""Our core's answer to a question, in the oracle's form. It stands in for the shell, and does nothing else."""

import re
from collections.abc import Sequence

import msgspec

from scaler.decide import decide
from scaler.model.autoscaler import Autoscaler, AutoscalerStatus, MetricSpec
from scaler.model.decision import Event, NotAsked, Rescaled, RescaleFailed
from scaler.model.memory import Memory, Recommendation, ScaleEvent
from scaler.model.observed import Observed, Pod, ScaleUnavailable, ScaleView
from scaler.model.readings import MetricFailed, Reading
from scaler.model.settings import Settings
from scaler.normalize.normalize import normalize
from scaler.recommend import samples
from scaler.recommend.branch import min_replicas, wants_metrics
from scaler.recommend.combine import metrics_of
from scaler.recommend.propose import propose
from scaler.recommend.selector import selector_problem, target_selector
from scaler.recommend.subject import subject_of
from scaler.report.conditions import Conditions
from scaler.settle import settle
from testbed.oracle.scaler.questions import (
    START_UNIX_SECONDS,
    Entry,
    MetricAnswer,
    MetricAnswers,
    Question,
    Remembered,
    ScaleAnswer,
    Step,
    StepAnswer,
    Vector,
)
from wire.labels import Selector, parse

Log = tuple[tuple[str, ...], ...]

_AMBIGUOUS = "controlled by multiple HPAs"


def metric_answers(question: Question) -> tuple[MetricAnswer, ...]:
    """Every metric of the first step on its own."""
    step = question.steps[0]
    now = START_UNIX_SECONDS + step.at_seconds
    scale = _scale_view(step.scale, step.scale.spec)
    observed = _observed(step, step.autoscaler, scale)
    subject = subject_of(observed, scale, question.settings, now)
    found = [
        propose(metric, _reading(metric, step.metrics), subject)
        for metric in metrics_of(step.autoscaler.spec)
    ]
    return tuple(
        MetricAnswer(
            proposal=each.derivation.proposal or 0,
            name=each.derivation.name,
            status=each.status,
            error=each.failure.error if each.failure else "",
            log=(("event", "Warning", each.failure.reason, each.failure.message),)
            if each.failure
            else (),
        )
        for each in found
    )


def step_answers(question: Question) -> tuple[StepAnswer, ...]:
    """Whole looks; status, memory and replicas go from one to the next."""
    memory = _memory(question.memory)
    status, replicas = question.steps[0].autoscaler.status, 0
    answers = []
    for step in question.steps:
        autoscaler = msgspec.structs.replace(step.autoscaler, status=status)
        if not step.scale.error and not step.scale.follow:
            replicas = step.scale.spec
        answer, memory, replicas = _look(step, autoscaler, memory, question.settings, replicas)
        status = answer.status
        answers.append(answer)
    return tuple(answers)


def normalized_answer(question: Question) -> tuple[StepAnswer, ...]:
    """What the first step makes of a recommendation; the log holds the count."""
    step, asked = question.steps[0], question.normalize
    now = START_UNIX_SECONDS + step.at_seconds
    spec = step.autoscaler.spec
    found = normalize(
        _memory(question.memory),
        spec,
        current=asked.current,
        recommended=asked.desired,
        min_replicas=min_replicas(spec),
        settings=question.settings,
        now_unix_seconds=now,
    )
    conditions = Conditions((), now)
    conditions.able_to_scale(found.stabilization.reason)
    conditions.scaling_limited(found.bound.reason, is_limited=found.is_limited)
    answer = StepAnswer(
        log=(("desired", str(found.bound.after)),),
        status=AutoscalerStatus(conditions=conditions.as_tuple()),
        error="",
        memory=_remembered(found.memory),
    )
    return (answer,)


def difference(vector: Vector) -> str | None:
    """Where our core answers otherwise than the real code did, or None."""
    question = vector.question
    pairs: list[tuple[object, object]]
    if question.mode == "metrics":
        pairs = list(zip(vector.metrics, metric_answers(question), strict=True))
    else:
        answer = normalized_answer if question.mode == "normalize" else step_answers
        ours = answer(question)
        pairs = [
            (comparable(real), comparable(own))
            for real, own in zip(vector.steps, ours, strict=True)
        ]
    for index, (real, own) in enumerate(pairs):
        if real != own:
            asked, said, we_say = (
                msgspec.json.encode(each).decode() for each in (question, real, own)
            )
            return f"answer {index} to {asked}\nis  {said}\nnot {we_say}"
    return None


def comparable(answer: StepAnswer) -> StepAnswer:
    """The same answer whatever the order in which Go's maps were walked, and with null as an empty list.

    That order stands in the message of an ambiguous selector, so there it is chance whether the
    message has changed and the status is written.
    """
    status = answer.status
    is_ambiguous = any(_AMBIGUOUS in each.message for each in status.conditions or ())
    conditions = tuple(
        msgspec.structs.replace(each, message=_sorted_keys(each.message))
        for each in status.conditions or ()
    )
    return StepAnswer(
        log=tuple(
            tuple(_sorted_keys(word) for word in entry)
            for entry in answer.log
            if not (is_ambiguous and entry == ("status",))
        ),
        status=msgspec.structs.replace(
            status, conditions=conditions, current_metrics=status.current_metrics or ()
        ),
        error=_sorted_keys(answer.error),
        memory=Remembered(
            recommendations=answer.memory.recommendations or (),
            scale_up_events=answer.memory.scale_up_events or (),
            scale_down_events=answer.memory.scale_down_events or (),
        ),
    )


def _look(
    step: Step, autoscaler: Autoscaler, memory: Memory, settings: Settings, replicas: int
) -> tuple[StepAnswer, Memory, int]:
    now = START_UNIX_SECONDS + step.at_seconds
    scale: ScaleView | ScaleUnavailable = _scale_view(step.scale, replicas)
    if step.scale.error:
        reference = autoscaler.spec.scale_target_ref
        target = f"{reference.kind}/{autoscaler.metadata.namespace}/{reference.name}"
        context = f"failed to query scale subresource for {target}"
        scale = ScaleUnavailable(message=step.scale.error, context=context)
    observed = _observed(step, autoscaler, scale)
    readings: list[Reading] = []
    if wants_metrics(observed, settings) and selector_problem(observed) is None:
        readings = [_reading(each, step.metrics) for each in metrics_of(autoscaler.spec)]
    decision = decide(observed, readings, memory, settings, now)

    log: Log = ()
    actuation: Rescaled | RescaleFailed | NotAsked = NotAsked()
    if decision.rescale:
        log = (("scale", str(decision.desired_replicas)),)
        actuation = RescaleFailed(step.update_error) if step.update_error else Rescaled()
    outcome = settle(decision, actuation, now)
    # Upstream sends the metrics' events before it writes the scale; `events` begins with them.
    before = len(decision.events)
    log = (
        *_told(outcome.events[:before]),
        *log,
        *_told(outcome.events[before:]),
        *((("status",),) if outcome.status_changed else ()),
        *_told(outcome.events_after_status),
    )
    after = decision.desired_replicas if isinstance(actuation, Rescaled) else replicas
    answer = StepAnswer(
        log=log,
        status=outcome.status
        if outcome.status_changed
        else autoscaler.status or AutoscalerStatus(),
        error=outcome.error,
        memory=_remembered(outcome.memory),
    )
    return answer, outcome.memory, replicas if after is None else after


def _told(events: Sequence[Event]) -> Log:
    return tuple(("event", each.type.value, each.reason, each.message) for each in events)


def _scale_view(scale: ScaleAnswer, replicas: int) -> ScaleView:
    return ScaleView(spec_replicas=replicas, status_replicas=scale.status, selector=scale.selector)


def _observed(step: Step, autoscaler: Autoscaler, scale: ScaleView | ScaleUnavailable) -> Observed:
    """What the watch caches would say: the pods of the selector, and whose other selectors match them."""
    selector = target_selector(scale) if isinstance(scale, ScaleView) else None
    if not isinstance(selector, Selector):
        return Observed(autoscaler=autoscaler, scale=scale)
    pods = tuple(pod for pod in step.pods if selector.matches(pod.metadata.labels))
    others = [key for key, text in step.others.items() if _matches_any(parse(text), pods)]
    own = (autoscaler.key,) if pods else ()
    return Observed(autoscaler=autoscaler, scale=scale, pods=pods, controlled_by=(*own, *others))


def _matches_any(selector: Selector, pods: Sequence[Pod]) -> bool:
    return any(selector.matches(pod.metadata.labels) for pod in pods)


def _reading(metric: MetricSpec, said: MetricAnswers) -> Reading:
    """What the shell's gathering would make of the APIs' answers."""
    if metric.external is not None:
        external = said.external[metric.external.metric.name]
        if external.error:
            return samples.fetch_failed(samples.EXTERNAL_API, external.error)
        return samples.external_values(external.list)
    if metric.object is not None:
        custom = said.custom[metric.object.metric.name]
        if custom.error:
            return samples.fetch_failed(samples.CUSTOM_API, custom.error)
        return samples.object_value(custom.list)
    if metric.pods is not None:
        custom = said.custom[metric.pods.metric.name]
        if custom.error:
            return samples.fetch_failed(samples.CUSTOM_API, custom.error)
        return samples.pod_samples(custom.list)
    return _resource_reading(metric, said)


def _resource_reading(metric: MetricSpec, said: MetricAnswers) -> Reading:
    if said.resource.error:
        return samples.fetch_failed(samples.RESOURCE_API, said.resource.error)
    if metric.container_resource is not None:
        source = metric.container_resource
        return samples.resource_samples(
            said.resource.list, resource=source.name, container=source.container
        )
    if metric.resource is not None:
        return samples.resource_samples(said.resource.list, resource=metric.resource.name)
    return MetricFailed("never asked")


def _memory(said: Remembered) -> Memory:
    recommendations = tuple(
        Recommendation(
            replicas=each.replicas, made_at_unix_seconds=START_UNIX_SECONDS + each.at_seconds
        )
        for each in said.recommendations or ()
    )
    return Memory(
        recommendations=recommendations or None,
        scale_up_events=_events(said.scale_up_events),
        scale_down_events=_events(said.scale_down_events),
    )


def _events(entries: tuple[Entry, ...] | None) -> tuple[ScaleEvent, ...]:
    return tuple(
        ScaleEvent(
            replica_change=each.replicas,
            happened_at_unix_seconds=START_UNIX_SECONDS + each.at_seconds,
            outdated=each.outdated,
        )
        for each in entries or ()
    )


def _remembered(memory: Memory) -> Remembered:
    def entries(events: tuple[ScaleEvent, ...]) -> tuple[Entry, ...]:
        return tuple(
            Entry(
                replicas=each.replica_change,
                at_seconds=each.happened_at_unix_seconds - START_UNIX_SECONDS,
                outdated=each.outdated,
            )
            for each in events
        )

    return Remembered(
        recommendations=tuple(
            Entry(
                replicas=each.replicas,
                at_seconds=each.made_at_unix_seconds - START_UNIX_SECONDS,
            )
            for each in memory.recommendations or ()
        ),
        scale_up_events=entries(memory.scale_up_events),
        scale_down_events=entries(memory.scale_down_events),
    )


def _sorted_keys(text: str) -> str:
    """`[b a]` as `[a b]`: the controllers of ambiguous pods stand in random order upstream."""
    return re.sub(
        rf"({_AMBIGUOUS}: )\[([^\]]*)\]",
        lambda found: f"{found[1]}[{' '.join(sorted(found[2].split()))}]",
        text,
    )
