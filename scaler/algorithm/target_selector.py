"""Whether the scale's selector can be used (upstream's `validateAndParseSelector`, its first half)."""

import msgspec

from scaler.algorithm.observed import ScaleView
from wire.api.labels import Selector, parse

# A longer one takes several milliseconds of each reconcile, and kube-apiserver takes one of 1 MB.
SELECTOR_CHARACTERS_MAX = 4096
# Between requirements, and between the values of one. With the characters of real labels, fewer fit into the length.
SELECTOR_COMMAS_MAX = 256


class UnusableSelector(msgspec.Struct, frozen=True, kw_only=True):
    """Why no metric is computed at all; upstream words event and condition differently in one case."""

    event_reason: str
    event_message: str
    condition_message: str


def target_selector(scale: ScaleView) -> Selector | UnusableSelector:
    """The scale's selector, parsed. An empty one is refused, because it would select every pod.

    So is one that would delay the reconciles of others, which upstream uses.
    """
    if scale.selector == "":
        return UnusableSelector(
            event_reason="SelectorRequired",
            event_message="selector is required",
            condition_message="the HPA target's scale is missing a selector",
        )
    if excess := excess_of_selector(scale.selector):
        message = (
            f"the selector of the target's scale has {excess}: select its pods by fewer labels"
        )
        return UnusableSelector(
            event_reason="InvalidSelector", event_message=message, condition_message=message
        )
    try:
        return parse(scale.selector)
    except ValueError as error:
        message = (
            f"couldn't convert selector into a corresponding internal selector object: {error}"
        )
        return UnusableSelector(
            event_reason="InvalidSelector", event_message=message, condition_message=message
        )


def excess_of_selector(selector: str) -> str | None:
    """What it has too much of to be used; None if nothing."""
    for count, limit, what in (
        (len(selector), SELECTOR_CHARACTERS_MAX, "characters"),
        (selector.count(","), SELECTOR_COMMAS_MAX, "commas"),
    ):
        if count > limit:
            return f"{count} {what}, and is not used because it has more than {limit}"
    return None
