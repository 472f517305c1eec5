"""Whether the scale's selector can be used (upstream's `validateAndParseSelector`, its first half)."""

import msgspec

from scaler.algorithm.observed import ScaleView
from wire.api.labels import Selector, parse

# A longer one takes several milliseconds of each reconcile, and kube-apiserver takes one of 1 MB.
SELECTOR_CHARACTERS_MAX = 4096


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
    if len(scale.selector) > SELECTOR_CHARACTERS_MAX:
        message = (
            f"the selector of the target's scale has {len(scale.selector)} characters, and is not used because it has"
            f" more than {SELECTOR_CHARACTERS_MAX}: select its pods by fewer labels"
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
