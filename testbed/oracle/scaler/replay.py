"""The core's answer to a case, in the oracle's form. It replaces the shell, and does nothing else."""

import math
import re
from collections.abc import Iterator, Sequence

import msgspec

from scaler.algorithm import samples
from scaler.algorithm.conditions import Conditions
from scaler.algorithm.decide import decide, refused
from scaler.algorithm.decision import Event, NotNeeded, Rescaled, RescaleFailed
from scaler.algorithm.draft import Ask
from scaler.algorithm.effective_policy import policy_of
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.normalize import bounded, stabilized
from scaler.algorithm.observed import Observed, Pod, ScaleUnavailable, ScaleView, TargetPods
from scaler.algorithm.plan import plan
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import propose
from scaler.algorithm.readings import MetricFailed, Reading
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.signal import signal
from scaler.algorithm.workload import Workload
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus, MetricSpec, metrics_of
from scaler.api.upstream import Upstream
from scaler.cluster.target_scale import group_of
from testbed.oracle.scaler.cases import (
    START_UNIX_SECONDS,
    Case,
    MetricAnswer,
    MetricAnswers,
    ScaleAnswer,
    Step,
    StepAnswer,
    Vector,
)
from testbed.oracle.scaler.slots import (
    deciding_within,
    longest_window_seconds,
    memory_of,
    remembered_of,
)
from wire.api.labels import Selector, parse

Log = tuple[tuple[str, ...], ...]

_AMBIGUOUS = re.compile(
    r"(?P<text>are controlled by (?:multiple HPAs: |more than one HPA \(e\.g\. ))\[(?P<names>[^]]*)\]"
)


def metric_answers(case: Case, upstream: Upstream) -> tuple[MetricAnswer, ...]:
    """Every metric of the first step on its own, as `upstream` does it."""
    step = case.steps[0]
    workload = Workload(
        namespace=step.autoscaler.metadata.namespace,
        pods=_target_pods(step, step.autoscaler, parse(step.scale.selector)).pods,
        spec_replicas=step.scale.spec,
        measured_replicas=step.scale.spec,
        status_replicas=step.scale.status,
        policy=_policy(case, step, upstream),
        moment=Moment(START_UNIX_SECONDS + step.at_seconds),
    )
    metrics = metrics_of(step.autoscaler.spec)
    found = [
        propose(each.metric, each.reading, workload)
        for each in signal(metrics, _readings(metrics, step.metrics))
    ]
    return tuple(
        MetricAnswer(
            proposal=each.derivation.proposal or 0,
            # The real code gives a failed metric no name. Here it has one, which only explanations show.
            name="" if each.failure else each.derivation.name,
            status=each.status,
            error=each.failure.error if each.failure else "",
            log=(("event", "Warning", each.failure.reason, each.failure.message),)
            if each.failure
            else (),
        )
        for each in found
    )


def step_answers(case: Case, upstream: Upstream) -> tuple[StepAnswer, ...]:
    """Whole reconciles; status, memory and replicas go from one to the next."""
    memory = memory_of(case.memory)
    settings = _settings(case, upstream)
    status, replicas = case.steps[0].autoscaler.status, 0
    answers = []
    for step in case.steps:
        autoscaler = msgspec.structs.replace(step.autoscaler, status=status)
        if _unavailable(step, autoscaler) is None and not step.scale.follow:
            replicas = step.scale.spec
        answer, memory, replicas = _reconcile(step, autoscaler, memory, settings, replicas)
        status = answer.status
        answers.append(answer)
    return tuple(answers)


def normalized_answer(case: Case, upstream: Upstream) -> tuple[StepAnswer, ...]:
    """What the first step makes of a recommendation; the log holds the count."""
    step, normalization = case.steps[0], case.normalize
    now = START_UNIX_SECONDS + step.at_seconds
    memory, policy, moment = memory_of(case.memory), _policy(case, step, upstream), Moment(now)
    current = normalization.current
    stabilization, remembered = stabilized(
        memory, policy, moment, current=current, recommended=normalization.desired
    )
    bound = bounded(memory, policy, moment, current=current, desired=stabilization.stabilized)
    conditions = Conditions((), now)
    conditions.able_to_scale(stabilization.reason)
    conditions.scaling_limited(bound.reason, is_limited=bound.before != bound.after)
    answer = StepAnswer(
        log=(("desired", str(bound.after)),),
        status=AutoscalerStatus(conditions=conditions.as_tuple()),
        error="",
        memory=remembered_of(remembered),
    )
    return (answer,)


def difference(vector: Vector, upstream: Upstream) -> str | None:
    """Where the core's answer of this version differs from the real code's, or None."""
    case = vector.case
    pairs: list[tuple[object, object]]
    if case.mode == "metrics":
        pairs = list(zip(vector.metrics, metric_answers(case, upstream), strict=True))
    else:
        names = controllers(case)
        answer = normalized_answer if case.mode == "normalize" else step_answers
        pairs = [
            (comparable(real, cutoff, names), comparable(own, cutoff, names))
            for real, own, cutoff in zip(
                vector.steps,
                answer(case, upstream),
                _cutoffs_seconds(case, upstream),
                strict=True,
            )
        ]
    for index, (real, own) in enumerate(pairs):
        if real != own:
            encoded, expected, actual = (
                msgspec.json.encode(each).decode() for each in (case, real, own)
            )
            return f"answer {index} to {encoded}\nis  {expected}\nnot {actual}"
    return None


def _cutoffs_seconds(case: Case, upstream: Upstream) -> Iterator[float]:
    """Per step, the time before which no recommendation counts.

    It never moves back: what a shorter window has left behind stays forgotten when the window grows again
    (`lengthened-windows` in docs/deviations.md).
    """
    cutoff = -math.inf
    for step in case.steps:
        window_seconds = longest_window_seconds(_policy(case, step, upstream))
        cutoff = max(cutoff, step.at_seconds - window_seconds)
        yield cutoff


def controllers(case: Case) -> frozenset[str]:
    """The autoscalers that a message about ambiguous pods may name; it may stay from an earlier step."""
    return frozenset(key for step in case.steps for key in (step.autoscaler.key, *step.others))


def comparable(answer: StepAnswer, cutoff_seconds: float, names: frozenset[str]) -> StepAnswer:
    """The same answer whatever the order of Go's maps and the form of the memory, and with null as an empty list.

    Map order shows in the message of an ambiguous selector, so there it is chance whether the message
    has changed and the status is written. It names all of `names` that match or, since 1.37, any two of them. Of the recommendations, those are compared that can still decide.
    """
    status = answer.status
    is_ambiguous = any(_AMBIGUOUS.search(each.message) for each in status.conditions or ())
    conditions = tuple(
        msgspec.structs.replace(each, message=_sorted_keys(each.message, names))
        for each in status.conditions or ()
    )
    return StepAnswer(
        log=tuple(
            tuple(_sorted_keys(word, names) for word in entry)
            for entry in answer.log
            if not (is_ambiguous and entry == ("status",))
        ),
        status=msgspec.structs.replace(
            status, conditions=conditions, current_metrics=status.current_metrics or ()
        ),
        error=_sorted_keys(answer.error, names),
        memory=deciding_within(answer.memory, cutoff_seconds),
        counted=answer.counted,
    )


def _reconcile(
    step: Step, autoscaler: Autoscaler, memory: Memory, settings: Settings, replicas: int
) -> tuple[StepAnswer, Memory, int]:
    now = START_UNIX_SECONDS + step.at_seconds
    scale = _unavailable(step, autoscaler) or _scale_view(step.scale, replicas)
    decision = plan(Observed(autoscaler=autoscaler, scale=scale), memory, settings, now)
    if isinstance(decision, Ask) and step.deleted and settings.upstream.refuses_unknown:
        decision = refused(decision)
    if isinstance(decision, Ask):
        pods = _target_pods(step, autoscaler, decision.selector)
        measured = () if pods.are_ambiguous else _readings(decision.metrics, step.metrics)
        decision = decide(decision, pods, measured, now)

    log: Log = ()
    actuation: Rescaled | RescaleFailed | NotNeeded = NotNeeded()
    if decision.rescale:
        log = (("scale", str(decision.desired_replicas)),)
        actuation = RescaleFailed(step.update_error) if step.update_error else Rescaled()
    outcome = settle(decision, actuation, now)
    # Upstream sends the metrics' events before it writes the scale; `events` begins with them.
    before = len(decision.events)
    log = (
        *_logged(outcome.events[:before]),
        *log,
        *_logged(outcome.events[before:]),
        *((("status",),) if outcome.status_changed else ()),
        *_logged(outcome.events_after_status),
    )
    after = decision.desired_replicas if isinstance(actuation, Rescaled) else replicas
    remembered = outcome.memory
    assert isinstance(remembered, Memory)  # noqa: S101 - it began with one
    answer = StepAnswer(
        log=log,
        status=outcome.status
        if outcome.status_changed
        else autoscaler.status or AutoscalerStatus(),
        error=outcome.error or "",
        memory=remembered_of(remembered),
        counted=(outcome.action.value, outcome.error_class.value),
    )
    return answer, remembered, replicas if after is None else after


def _logged(events: Sequence[Event]) -> Log:
    return tuple(("event", each.type.value, each.reason, each.message) for each in events)


def _unavailable(step: Step, autoscaler: Autoscaler) -> ScaleUnavailable | None:
    """What the shell would make of a scale that cannot be read."""
    reference = autoscaler.spec.scale_target_ref
    try:
        group_of(reference.api_version)
    except ValueError as error:
        return ScaleUnavailable(
            message=str(error),
            context="invalid API version in scale target reference",
            spec_error=True,
        )
    if step.mapping_error:
        context = "unable to determine resource for scale target reference"
        return ScaleUnavailable(message=step.mapping_error, context=context)
    if step.scale.error:
        target = f"{reference.kind}/{autoscaler.metadata.namespace}/{reference.name}"
        context = f"failed to query scale subresource for {target}"
        return ScaleUnavailable(message=step.scale.error, context=context)
    return None


def _scale_view(scale: ScaleAnswer, replicas: int) -> ScaleView:
    return ScaleView(spec_replicas=replicas, status_replicas=scale.status, selector=scale.selector)


def _target_pods(step: Step, autoscaler: Autoscaler, selector: Selector) -> TargetPods:
    """What the watch caches would return: the pods of the selector, and whose other selectors match them."""
    pods = tuple(pod for pod in step.pods if selector.matches(pod.metadata.labels))
    others = [key for key, text in step.others.items() if _matches_any(parse(text), pods)]
    own = (autoscaler.key,) if pods and not step.deleted else ()
    return TargetPods(pods=pods, controlled_by=(*own, *others))


def _policy(case: Case, step: Step, upstream: Upstream) -> Policy:
    return policy_of(step.autoscaler.spec, _settings(case, upstream))


def _settings(case: Case, upstream: Upstream) -> Settings:
    settings = msgspec.convert(case.settings, Settings, from_attributes=True)
    return msgspec.structs.replace(settings, upstream=upstream)


def _matches_any(selector: Selector, pods: Sequence[Pod]) -> bool:
    return any(selector.matches(pod.metadata.labels) for pod in pods)


def _readings(metrics: Sequence[MetricSpec], answers: MetricAnswers) -> tuple[Reading, ...]:
    return tuple(_reading(metric, answers) for metric in metrics)


def _reading(metric: MetricSpec, answers: MetricAnswers) -> Reading:
    """What the shell would make of the APIs' answers."""
    if metric.external is not None:
        external = answers.external[metric.external.metric.name]
        if external.error:
            return samples.fetch_failed(samples.EXTERNAL_API, external.error)
        return samples.external_values(external.list)
    if metric.object is not None:
        custom = answers.custom[metric.object.metric.name]
        if custom.error:
            return samples.fetch_failed(samples.CUSTOM_API, custom.error)
        return samples.object_value(custom.list)
    if metric.pods is not None:
        custom = answers.custom[metric.pods.metric.name]
        if custom.error:
            return samples.fetch_failed(samples.CUSTOM_API, custom.error)
        return samples.pod_samples(custom.list)
    return _resource_reading(metric, answers)


def _resource_reading(metric: MetricSpec, answers: MetricAnswers) -> Reading:
    if answers.resource.error:
        return samples.fetch_failed(samples.RESOURCE_API, answers.resource.error)
    if metric.container_resource is not None:
        source = metric.container_resource
        return samples.resource_samples(
            answers.resource.list, resource=source.name, container=source.container
        )
    if metric.resource is not None:
        return samples.resource_samples(answers.resource.list, resource=metric.resource.name)
    return MetricFailed("never requested")


def _sorted_keys(text: str, names: frozenset[str]) -> str:
    """`[b a]` as `[a b]`: upstream lists the controllers of ambiguous pods in random order, and two of them by chance."""

    def replaced(found: re.Match[str]) -> str:
        listed = sorted(found["names"].split())
        is_choice = "more than one" in found["text"] and len(listed) == 2
        if is_choice and names.issuperset(listed):
            listed = ["two", "of", *sorted(names)]
        return f"{found['text']}[{' '.join(listed)}]"

    return _AMBIGUOUS.sub(replaced, text)
