"""Pure: a derivation in plain words.

`explain` is what `why` prints: the first line says what happens, the others how that was computed.
`summarize` is the line in a LoadAutoscaler's status.
"""

import re
from collections.abc import Iterator

from scaler.algorithm.bounds import (
    DESIRED_WITHIN_RANGE,
    SCALE_DOWN_LIMIT,
    SCALE_UP_LIMIT,
    TOO_FEW_REPLICAS,
    TOO_MANY_REPLICAS,
)
from scaler.algorithm.decision import Branch
from scaler.algorithm.derivation import (
    Bound,
    Derivation,
    MetricDerivation,
    PodGroups,
    PolicyLimit,
    Rate,
    Stabilization,
)
from scaler.algorithm.history import Extensions
from scaler.algorithm.policy import Tolerances
from scaler.algorithm.remark import Remark
from scaler.algorithm.replicas import (
    COUNT_AGAINST_DIRECTION,
    DIRECTION_CHANGED,
    WITHIN_TOLERANCE,
    WITHIN_TOLERANCE_AFTER_FILL_IN,
)
from scaler.algorithm.stabilization import READY_FOR_NEW_SCALE
from scaler.api.decision_summary import DecisionSummary
from wire.api.quantity import format_milli
from wire.api.wording import some

_NOT_FOUND = re.compile(r"could not find the metric [^:]*:?\s*(.*)", re.DOTALL)
_LIMITS = {
    SCALE_UP_LIMIT: "the scale-up rate",
    SCALE_DOWN_LIMIT: "the scale-down rate",
    TOO_MANY_REPLICAS: "maxReplicas",
    TOO_FEW_REPLICAS: "minReplicas",
}


def explain(derivation: Derivation, extensions: Extensions) -> str:
    """The whole explanation, several lines."""
    lines = [
        f"{derivation.autoscaler} {headline(derivation)}",
        *(f"  - {metric_sentence(each)}" for each in derivation.metrics),
        *(f"  {line}" for line in _combination(derivation)),
    ]
    stabilization = derivation.stabilization
    if stabilization is not None and stabilization.reason != READY_FOR_NEW_SCALE:
        lines.append(f"  {stabilization_sentence(stabilization, derivation)}")
    if derivation.bound is not None:
        lines.extend(f"  {line}" for line in bound_sentences(derivation.bound))
    lines.extend(f"  {line}" for line in _steps(derivation, extensions))
    if derivation.lifted_to_min:
        lines.append(f"  From zero, it starts at minReplicas ({derivation.min_replicas}).")
    if derivation.held:
        lines.append(f"  It is {derivation.held}.")
    lines.extend(f"  {remark_sentence(each)}" for each in derivation.remarks)
    if derivation.rescale_error:
        lines.append(f"  However, the scale could not be written: {derivation.rescale_error}.")
    return "\n".join(lines)


def summarize(derivation: Derivation, extensions: Extensions) -> DecisionSummary:
    """One line, and the numbers that users need most. Without a time, which would change at every sync."""
    stabilization, bound = derivation.stabilization, derivation.bound
    is_limited = bound is not None and bound.reason != DESIRED_WITHIN_RANGE
    return DecisionSummary(
        summary=_summary(derivation, extensions),
        proposed_replicas=derivation.proposed,
        stabilized_replicas=stabilization.stabilized if stabilization else None,
        limited_by=bound.reason if bound and is_limited else "",
        held_by=", ".join(_holding(derivation, extensions)),
    )


def _holding(derivation: Derivation, extensions: Extensions) -> Iterator[str]:
    for reason, _ in _holds(derivation, extensions):
        yield reason
    if derivation.held_by:
        yield derivation.held_by
    for remark in derivation.remarks:
        if remark.holds:
            yield remark.condition


def _holds(derivation: Derivation, extensions: Extensions) -> Iterator[tuple[str, str]]:
    """What steps of extensions hold, as reason and message."""
    for each in extensions:
        step = derivation.steps.get(each.name)
        if step is not None and (found := each.hold(step)) is not None:
            yield found


def _steps(derivation: Derivation, extensions: Extensions) -> Iterator[str]:
    """What extensions did."""
    for each in extensions:
        step = derivation.steps.get(each.name)
        sentence = each.sentence(step, derivation.made_at_unix_seconds) if step else None
        if sentence is not None:
            yield sentence


def _summary(derivation: Derivation, extensions: Extensions) -> str:
    if derivation.rescale_error:
        return f"wanted {derivation.desired_replicas} replicas, but the scale could not be written"
    if derivation.stabilization is None or derivation.winner is None:
        return _without_decision(derivation)
    parts = [f"{derivation.metrics[derivation.winner].name} proposes {derivation.proposed}"]
    if derivation.stabilization.reason != READY_FOR_NEW_SCALE:
        parts.append(f"recent recommendations hold it at {derivation.stabilization.stabilized}")
    if derivation.bound is not None and derivation.bound.reason != DESIRED_WITHIN_RANGE:
        parts.append(_limited(derivation.bound))
    parts.extend(message for _, message in _holds(derivation, extensions))
    parts.extend(each.message for each in derivation.remarks if each.holds)
    return f"{headline(derivation).rstrip('.')}: {'; '.join(parts)}"


def _limited(bound: Bound) -> str:
    is_rate = bound.reason in (SCALE_UP_LIMIT, SCALE_DOWN_LIMIT)
    if is_rate and bound.rate is not None and bound.rate.select_policy == "Disabled":
        direction = "up" if bound.reason == SCALE_UP_LIMIT else "down"
        return f"kept at {bound.after}, because scaling {direction} is disabled"
    return f"limited to {bound.after} by {_LIMITS[bound.reason]}"


def _without_decision(derivation: Derivation) -> str:
    """The headline; if the only metric failed, which one and why."""
    if len(derivation.metrics) == 1 and derivation.desired_replicas is None:
        [metric] = derivation.metrics
        if metric.failure:
            kept = _replicas(derivation.current_replicas)
            return f"keeps {kept}: {metric.name} failed: {_cause(metric.failure)}"
    return headline(derivation).removesuffix(".")


def _cause(failure: str) -> str:
    """Without the layers that say what could not be read, which the name of the metric says."""
    for layer in (" value: ", "metrics API: "):
        failure = failure.partition(layer)[2] or failure
    # The layer before it has the selector, which may have the same punctuation.
    failure = failure[max(0, failure.find("no metrics returned")) :]
    missing = _NOT_FOUND.search(failure)
    if missing is None:
        return failure
    return f"not found: {missing[1]}" if missing[1] else "not found"


def headline(derivation: Derivation) -> str:
    """What happens, without the name of the autoscaler: "stays at 5 replicas."."""
    current = derivation.current_replicas
    match derivation.branch:
        case Branch.NO_SCALE:
            return (
                f"keeps its replicas: the scale of its target cannot be read: {derivation.problem}"
            )
        case Branch.SHARED_TARGET:
            return f"keeps {_replicas(current)}: {derivation.problem}."
        case Branch.DISABLED:
            return (
                "is disabled: its target has 0 replicas; "
                "scale the target to 1 or more to enable it again."
            )
        case Branch.ABOVE_MAX:
            return f"{_step(derivation)}: {current} is more than maxReplicas, so no metric is read."
        case Branch.BELOW_MIN:
            return f"{_step(derivation)}: {current} is less than minReplicas, so no metric is read."
        case _:
            return _headline_by_metrics(derivation)


def _headline_by_metrics(derivation: Derivation) -> str:
    current, desired = derivation.current_replicas, derivation.desired_replicas
    if derivation.problem:
        step = f"keeps {_replicas(current)}" if desired is None else _step(derivation)
        return f"{step} without reading metrics: {derivation.problem}."
    if desired is None:
        failed = sum(1 for each in derivation.metrics if each.failure)
        if failed == len(derivation.metrics):
            return f"keeps {_replicas(current)}: {_all_of(failed)} failed."
        return (
            f"keeps {_replicas(current)}: {failed} of {len(derivation.metrics)} metrics failed, and "
            "the others alone would scale it down, perhaps too far."
        )
    return f"{_step(derivation)}."


def _step(derivation: Derivation) -> str:
    current, desired = derivation.current_replicas, derivation.desired_replicas
    if desired == current:
        return f"stays at {_replicas(current)}"
    verb = "would go" if derivation.is_dry_run else "goes"
    return f"{verb} from {current} to {_replicas(desired)}"


def metric_sentence(metric: MetricDerivation) -> str:
    """From its value to its proposal, with its name."""
    if metric.sentence or metric.failure:
        return metric_details(metric)
    return f"{metric.name}: {metric_details(metric)}"


def metric_details(metric: MetricDerivation) -> str:
    """From its value to its proposal."""
    if metric.sentence:
        return metric.sentence
    if metric.failure:
        return f"{metric.type} metric failed: {metric.failure}."
    sentences = [
        f"{_measured(metric)} for a target of {metric.target}, ratio {_ratio(metric.usage_ratio)}."
    ]
    if metric.computed_from:
        sentences.append(f"Computed from {metric.computed_from}.")
    if metric.groups is not None:
        sentences.append(_groups(metric.groups))
    elif metric.ready_pods is not None:
        sentences.append(f"{_counted(metric.ready_pods, 'pod')} ready.")
    sentences.extend(_filled_in(metric))
    sentences.append(_proposal(metric))
    return " ".join(sentences)


def _measured(metric: MetricDerivation) -> str:
    if metric.utilization_percent is not None:
        return f"{metric.utilization_percent}% (average {_amount(metric, metric.average_milli)})"
    if metric.value_milli is not None:
        return _amount(metric, metric.value_milli)
    return f"average {_amount(metric, metric.average_milli)}"


def _groups(groups: PodGroups) -> str:
    parts = [f"{_counted(len(groups.ready), 'pod')} ready"]
    if groups.missing:
        parts.append(f"{len(groups.missing)} without a sample ({some(groups.missing)})")
    if groups.unready:
        parts.append(f"{len(groups.unready)} not ready yet ({some(groups.unready)})")
    if groups.ignored:
        parts.append(f"{len(groups.ignored)} failed or terminating ({some(groups.ignored)})")
    if groups.succeeded:
        parts.append(f"{len(groups.succeeded)} succeeded ({some(groups.succeeded)})")
    return f"{', '.join(parts)}."


def _filled_in(metric: MetricDerivation) -> Iterator[str]:
    """What was assumed for the pods that did not count, and the ratio with that."""
    fill_in = metric.fill_in
    if fill_in is None:
        return
    assumed = []
    if fill_in.missing_milli and any(fill_in.missing_milli.values()):
        # Careful when scaling down: a pod without a sample might be busy.
        assumed.append("the full target for pods without a sample")
    elif fill_in.missing_milli:
        assumed.append("0 for pods without a sample")
    if fill_in.unready_as_zero:
        assumed.append("0 for pods that are not ready")
    if assumed:
        yield f"Assuming {' and '.join(assumed)}, the ratio is {_ratio(fill_in.usage_ratio)}."


def _proposal(metric: MetricDerivation) -> str:
    if metric.is_input:
        return "It is only an input, and proposes nothing itself."
    kept = _replicas(metric.proposal)
    match metric.kept:
        case "":
            return f"It proposes {kept}."
        case k if k in (WITHIN_TOLERANCE, WITHIN_TOLERANCE_AFTER_FILL_IN):
            return f"That is within the tolerance ({_band(metric.tolerances)}), so it keeps {kept}."
        case k if k == DIRECTION_CHANGED:
            return f"That would reverse the direction, so it keeps {kept}."
        case k if k == COUNT_AGAINST_DIRECTION:
            return f"The count would go against the ratio, so it keeps {kept}."
        case _:
            return f"It keeps {kept} ({metric.kept})."


def _combination(derivation: Derivation) -> Iterator[str]:
    if derivation.winner is None or len(derivation.metrics) < 2:
        return
    winner = derivation.metrics[derivation.winner]
    if derivation.desired_replicas is not None:
        yield f"The largest proposal decides: {winner.proposal}, by {winner.name}."


def stabilization_sentence(stabilization: Stabilization, derivation: Derivation) -> str:
    """Which recommendation of its window decided. One of now is the current count, which a reconcile without a memory begins with."""
    made_at = stabilization.deciding_made_at_unix_seconds
    is_up = stabilization.reason == "ScaleUpStabilized"
    window = stabilization.up_window_seconds if is_up else stabilization.down_window_seconds
    becomes = f"{stabilization.recommended} becomes {stabilization.stabilized}"
    deciding = stabilization.deciding_replicas
    if made_at == derivation.made_at_unix_seconds and deciding == derivation.current_replicas:
        known = "no earlier recommendation is known, so the current count counts as one for"
        return f"Stabilization: {known} {window:g} s: {becomes}."
    ago = "" if made_at is None else f", made {derivation.made_at_unix_seconds - made_at:.0f} s ago"
    which = f"the {'lowest' if is_up else 'highest'} recommendation of the last {window:g} s"
    return f"Stabilization: {which} is {deciding}{ago}, so {becomes}."


def remark_sentence(remark: Remark) -> str:
    """With what only `why` prints."""
    sentence = f"{remark.message[:1].upper()}{remark.message[1:]}."
    return f"{sentence} {remark.detail}" if remark.detail else sentence


def bound_sentences(bound: Bound) -> Iterator[str]:
    """What a scaling policy or a bound changed."""
    if bound.rate is not None and bound.reason in (SCALE_UP_LIMIT, SCALE_DOWN_LIMIT):
        yield f"Rate: {rate_sentence(bound.rate)}, so {bound.before} becomes {bound.after}."
    elif bound.reason == TOO_FEW_REPLICAS:
        yield f"minReplicas is {bound.min_replicas}, so {bound.before} becomes {bound.after}."
    elif bound.reason != DESIRED_WITHIN_RANGE:
        yield f"maxReplicas is {bound.max_replicas}, so {bound.before} becomes {bound.after}."


def rate_sentence(rate: Rate) -> str:
    """How far this reconcile may go, without a full stop."""
    if rate.select_policy == "Disabled":
        return f"scaling {rate.direction} is disabled in spec.behavior"
    if not rate.policies:
        return f"without spec.behavior, one period may double the count or reach 4: the limit is {rate.limit}"
    policies = "; ".join(_policy(each, rate.direction) for each in rate.policies)
    chosen = f" ({rate.select_policy} of them)" if len(rate.policies) > 1 else ""
    return f"{policies}: the limit{chosen} is {rate.limit}"


def _policy(policy: PolicyLimit, direction: str) -> str:
    unit = "%" if policy.type == "Percent" else " pods"
    return (
        f"at most {policy.value}{unit} {direction} per {policy.period_seconds} s "
        f"from {policy.period_start_replicas} allows {policy.limit}"
    )


def _replicas(count: int | None) -> str:
    return "an unknown number of replicas" if count is None else _counted(count, "replica")


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _all_of(failed: int) -> str:
    return "its metric" if failed == 1 else f"all {failed} metrics"


def _amount(metric: MetricDerivation, value_milli: int | None) -> str:
    if value_milli is None:
        return "unknown"
    if is_in_bytes(metric.target, is_memory=metric.name.startswith("memory ")):
        return bytes_text(value_milli / 1000)
    return format_milli(value_milli)


_DECIMAL = ("k", "M", "G", "T")
"""Suffixes of a target whose value has no binary ones either."""


def is_in_bytes(target: str, *, is_memory: bool) -> bool:
    """Whether amounts are read best with the suffixes Ki, Mi and Gi: memory, unless its target has others."""
    return target.endswith("i") or (is_memory and not target.endswith(_DECIMAL))


def bytes_text(amount: float) -> str:
    """With the suffixes of memory, in four digits: an average of pods is rarely a whole number of mebibytes."""
    for suffix in ("", "Ki", "Mi", "Gi"):
        if abs(amount) < 1024:
            return f"{amount:.4g}{suffix}"
        amount /= 1024
    return f"{amount:.4g}Ti"


def _ratio(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio:.2f}"


def _band(tolerances: Tolerances | None) -> str:
    if tolerances is None:
        return "unknown"
    return f"{1 - tolerances.scale_down:.2f} to {1 + tolerances.scale_up:.2f}"
