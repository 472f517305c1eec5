"""What recent recommendations allow (upstream's `stabilizeRecommendation` and `...WithBehaviors`).

Recommendations are remembered as they were made, before any limit. One that was last made exactly a window ago
still counts without `behavior`, and no longer counts with it.
"""

from scaler.algorithm.derivation import Stabilization
from scaler.algorithm.memory import Memory
from scaler.algorithm.moment import Moment
from scaler.algorithm.policy import Rules
from scaler.algorithm.recommendations import with_recommendation

READY_FOR_NEW_SCALE = "ReadyForNewScale"
SCALE_UP_STABILIZED = "ScaleUpStabilized"
SCALE_DOWN_STABILIZED = "ScaleDownStabilized"


def stabilize(
    memory: Memory, *, recommended: int, window_seconds: float, moment: Moment
) -> tuple[Stabilization, Memory]:
    """Without `behavior`: the highest recommendation of the window, even above the current count."""
    recent = (
        each
        for each in memory.recommendations or ()
        if each.replicas > recommended
        and not moment.passed(each.until_unix_seconds + window_seconds)
    )
    # The first of the highest.
    deciding = max(recent, key=lambda each: each.replicas, default=None)
    stabilization = Stabilization(
        down_window_seconds=window_seconds,
        recommended=recommended,
        stabilized=recommended if deciding is None else deciding.replicas,
        deciding_replicas=None if deciding is None else deciding.replicas,
        deciding_made_at_unix_seconds=None if deciding is None else deciding.until_unix_seconds,
        reason=READY_FOR_NEW_SCALE if deciding is None else SCALE_DOWN_STABILIZED,
    )
    return stabilization, _remembered(memory, recommended, window_seconds, moment)


def stabilize_with_behavior(
    memory: Memory, *, current: int, recommended: int, up: Rules, down: Rules, moment: Moment
) -> tuple[Stabilization, Memory]:
    """With `behavior`: as near to the recommendation as both windows allow, never past it."""
    made = memory.recommendations or ()
    lower = (
        each
        for each in made
        if each.replicas < recommended
        and not moment.reached(each.until_unix_seconds + up.window_seconds)
    )
    higher = (
        each
        for each in made
        if each.replicas > recommended
        and not moment.reached(each.until_unix_seconds + down.window_seconds)
    )
    lowest = min(lower, key=lambda each: each.replicas, default=None)
    highest = max(higher, key=lambda each: each.replicas, default=None)
    # `recommended` lies between the two, so at most one of them holds it back.
    at_least = recommended if lowest is None else lowest.replicas
    at_most = recommended if highest is None else highest.replicas
    stabilized = min(max(current, at_least), at_most)
    reason = READY_FOR_NEW_SCALE
    deciding = None
    if stabilized != recommended:
        scaling_up = recommended >= current
        reason = SCALE_UP_STABILIZED if scaling_up else SCALE_DOWN_STABILIZED
        deciding = lowest if scaling_up else highest
    stabilization = Stabilization(
        up_window_seconds=up.window_seconds,
        down_window_seconds=down.window_seconds,
        recommended=recommended,
        stabilized=stabilized,
        deciding_replicas=None if deciding is None else deciding.replicas,
        deciding_made_at_unix_seconds=None if deciding is None else deciding.until_unix_seconds,
        reason=reason,
    )
    longest_seconds = max(up.window_seconds, down.window_seconds)
    return stabilization, _remembered(memory, recommended, longest_seconds, moment)


def _remembered(memory: Memory, recommended: int, window_seconds: float, moment: Moment) -> Memory:
    now = moment.now_unix_seconds
    return with_recommendation(
        memory,
        replicas=recommended,
        before_unix_seconds=now - window_seconds,
        now_unix_seconds=now,
    )
