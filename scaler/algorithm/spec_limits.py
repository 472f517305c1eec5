"""How large those parts of a spec may be that each reconcile evaluates. Not upstream's.

kube-apiserver only limits whole objects, to about 1.5 MB: the metrics, policies and selectors that fit into one would
take hundreds of milliseconds of each reconcile, and so delay the autoscalers of other namespaces. The limits are far
above what people write, and take about 5 ms.
"""

from collections.abc import Iterable, Iterator, Sequence

from scaler.algorithm.policy import BehaviorRules
from scaler.api.autoscaler import MetricSpec
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
