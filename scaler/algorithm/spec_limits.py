"""How large those parts of a spec may be that each reconcile evaluates. Not upstream's.

kube-apiserver only limits whole objects, to about 1.5 MB: the metrics, policies and selectors that fit into one would
take hundreds of milliseconds of each reconcile, and so delay the autoscalers of other namespaces. The limits are far
above what people write, and take about 5 ms.

In memory, such an object takes ten times as much as kube-apiserver sends: 30 of one namespace would fill that of the scaler. So
what is beyond the limits is not kept either.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from scaler.algorithm.policy import BehaviorRules
from scaler.api.autoscaler import AutoscalerSpec, Behavior, MetricSpec
from wire.api.meta import LabelSelector

METRICS_MAX = 500
POLICIES_MAX = 500
# Of the label selectors of all metrics together.
LABELS_MAX = 1_000
CHARACTERS_MAX = 65_536

METRICS = "spec.metrics"


def excess_of_metrics(metrics: Iterable[tuple[str, Sequence[MetricSpec]]]) -> str | None:
    """What is too large, where, and what to do; None if nothing is. `metrics`: by the field that they belong to."""
    count = labels = characters = 0
    for path, each_metrics in metrics:
        for metric in each_metrics:
            count += 1
            if count > METRICS_MAX:
                return f"{path}: more than {METRICS_MAX} metrics are not evaluated: remove some"
            for text in _texts_of(_selector(metric)):
                labels += 1
                characters += len(text)
                if labels > LABELS_MAX or characters > CHARACTERS_MAX:
                    return (
                        f"{path}: label selectors with more than {LABELS_MAX} keys and values, or {CHARACTERS_MAX}"
                        " characters, together are not evaluated: shorten them"
                    )
    return None


def excess_of_behavior(behavior: BehaviorRules | None) -> str | None:
    """The same for the policies of a direction."""
    if behavior is None:
        return None
    for path, rules in (("scaleUp", behavior.scale_up), ("scaleDown", behavior.scale_down)):
        if len(rules.policies) > POLICIES_MAX:
            return (
                f"spec.behavior.{path}.policies: more than {POLICIES_MAX} policies are not evaluated:"
                " remove some"
            )
    return None


def shortened(spec: AutoscalerSpec) -> AutoscalerSpec:
    """The spec without the metrics, policies, keys and values behind the first ones that are too many: enough to find the same excess."""
    candidate = spec.candidate
    if candidate is not None:
        candidate = msgspec.structs.replace(
            candidate,
            metrics=_first_metrics(candidate.metrics),
            behavior=_first_policies(candidate.behavior),
        )
    return msgspec.structs.replace(
        spec,
        metrics=_first_metrics(spec.metrics),
        behavior=_first_policies(spec.behavior),
        candidate=candidate,
    )


def _first_metrics(metrics: tuple[MetricSpec, ...] | None) -> tuple[MetricSpec, ...] | None:
    if metrics is None or excess_of_metrics([(METRICS, metrics)]) is None:
        return metrics
    found, left = [], LABELS_MAX + 1
    for metric in metrics[: METRICS_MAX + 1]:
        selector = _selector(metric)
        if selector is not None:
            first = _first_texts(selector, left)
            left -= sum(1 for _ in _texts_of(first))
            metric = _with_selector(metric, first)
        found.append(metric)
    return tuple(found)


def _first_texts(selector: LabelSelector, count: int) -> LabelSelector:
    """Those keys and values that come first, at least so many if there are."""
    labels = dict(islice(selector.match_labels.items(), max(count, 0)))
    left, expressions = count - 2 * len(labels), []
    for each in selector.match_expressions:
        if left <= 0:
            break
        expressions.append(msgspec.structs.replace(each, values=each.values[:left]))
        left -= 2 + len(each.values)
    return LabelSelector(match_labels=labels, match_expressions=expressions)


def _with_selector(metric: MetricSpec, selector: LabelSelector) -> MetricSpec:
    for field in ("object", "pods", "external"):
        source = getattr(metric, field)
        if source is not None:
            identifier = msgspec.structs.replace(source.metric, selector=selector)
            changed = msgspec.structs.replace(source, metric=identifier)
            return msgspec.structs.replace(metric, **{field: changed})
    return metric


def _first_policies(behavior: Behavior | None) -> Behavior | None:
    if behavior is None:
        return None
    directions = {"scale_up": behavior.scale_up, "scale_down": behavior.scale_down}
    too_many = {
        field: msgspec.structs.replace(rules, policies=rules.policies[: POLICIES_MAX + 1])
        for field, rules in directions.items()
        if rules is not None and rules.policies is not None and len(rules.policies) > POLICIES_MAX
    }
    return msgspec.structs.replace(behavior, **too_many) if too_many else behavior


def _selector(metric: MetricSpec) -> LabelSelector | None:
    named = metric.object or metric.pods or metric.external
    return None if named is None else named.metric.selector


def _texts_of(selector: LabelSelector | None) -> Iterator[str]:
    if selector is None:
        return
    for key, value in selector.match_labels.items():
        yield key
        yield value
    for expression in selector.match_expressions:
        yield expression.key
        yield expression.operator
        yield from expression.values
