"""Whether the scale's selector can be used (upstream's `validateAndParseSelector`)."""

import msgspec

from scaler.model.autoscaler import MetricIdentifier
from scaler.model.observed import Observed, ScaleView
from scaler.recommend.unusable import MetricUnusable
from wire.labels import Selector, from_label_selector, parse


class SelectorProblem(msgspec.Struct, frozen=True, kw_only=True):
    """Why no metric is computed at all; upstream words event and condition differently in one case."""

    event_reason: str
    condition_reason: str
    event_message: str
    condition_message: str


def target_selector(scale: ScaleView) -> Selector | SelectorProblem:
    """The scale's selector, parsed. An empty one is refused, because it would select every pod."""
    if scale.selector == "":
        return SelectorProblem(
            event_reason="SelectorRequired",
            condition_reason="InvalidSelector",
            event_message="selector is required",
            condition_message="the HPA target's scale is missing a selector",
        )
    try:
        return parse(scale.selector)
    except ValueError as error:
        return _problem(
            "InvalidSelector",
            f"couldn't convert selector into a corresponding internal selector object: {error}",
        )


def selector_problem(observed: Observed) -> SelectorProblem | None:
    """What forbids computing metrics: no usable selector, or pods that another autoscaler controls too."""
    assert isinstance(observed.scale, ScaleView)  # noqa: S101 - only asked once the scale is known
    selector = target_selector(observed.scale)
    if isinstance(selector, SelectorProblem):
        return selector
    if len(observed.controlled_by) > 1:
        keys = " ".join(observed.controlled_by)
        return _problem(
            "AmbiguousSelector",
            f"pods by selector {observed.scale.selector} are controlled by multiple HPAs: [{keys}]",
        )
    return None


def metric_selector(metric: MetricIdentifier) -> Selector | None:
    """The labels that a metric's series must have; None asks for all of them. Raises MetricUnusable."""
    try:
        return None if metric.selector is None else from_label_selector(metric.selector)
    except ValueError as error:
        raise MetricUnusable(str(error)) from None


def _problem(reason: str, message: str) -> SelectorProblem:
    return SelectorProblem(
        event_reason=reason,
        condition_reason=reason,
        event_message=message,
        condition_message=message,
    )
