"""What recent recommendations allow (upstream's `stabilizeRecommendation` and `...WithBehaviors`).

Recommendations are remembered as they were made, before any limit. One that was last made exactly a window ago
still counts without `behavior`, and no longer counts with it.
"""

from collections.abc import Iterable

from scaler.algorithm.derivation import Stabilization
from scaler.algorithm.memory import Memory, Recommendation
from scaler.algorithm.policy import Rules
from scaler.algorithm.recommendations import with_recommendation

READY_FOR_NEW_SCALE = "ReadyForNewScale"
SCALE_UP_STABILIZED = "ScaleUpStabilized"
SCALE_DOWN_STABILIZED = "ScaleDownStabilized"


def stabilize(
    memory: Memory, *, recommended: int, window_seconds: float, now_unix_seconds: float
) -> tuple[Stabilization, Memory]:
    """Without `behavior`: the highest recommendation of the window, even above the current count."""
    cutoff = now_unix_seconds - window_seconds
    recent = [each for each in memory.recommendations or () if each.until_unix_seconds >= cutoff]
    deciding = _highest(recent, above=recommended)
    stabilization = Stabilization(
        down_window_seconds=window_seconds,
        recommended=recommended,
        stabilized=recommended if deciding is None else deciding.replicas,
        deciding_replicas=None if deciding is None else deciding.replicas,
        deciding_made_at_unix_seconds=None if deciding is None else deciding.until_unix_seconds,
        reason=READY_FOR_NEW_SCALE if deciding is None else SCALE_DOWN_STABILIZED,
    )
    memory = with_recommendation(
        memory,
        replicas=recommended,
        before_unix_seconds=cutoff,
        now_unix_seconds=now_unix_seconds,
    )
    return stabilization, memory


def stabilize_with_behavior(
    memory: Memory,
    *,
    current: int,
    recommended: int,
    up: Rules,
    down: Rules,
    now_unix_seconds: float,
) -> tuple[Stabilization, Memory]:
    """With `behavior`: as near to the recommendation as both windows allow, never past it."""
    up_cutoff = now_unix_seconds - up.window_seconds
    down_cutoff = now_unix_seconds - down.window_seconds
    made = memory.recommendations or ()
    lowest = _lowest((each for each in made if each.until_unix_seconds > up_cutoff), recommended)
    highest = _highest(
        (each for each in made if each.until_unix_seconds > down_cutoff), above=recommended
    )
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
    memory = with_recommendation(
        memory,
        replicas=recommended,
        before_unix_seconds=min(up_cutoff, down_cutoff),
        now_unix_seconds=now_unix_seconds,
    )
    return stabilization, memory


def _highest(made: Iterable[Recommendation], *, above: int) -> Recommendation | None:
    """The first of the highest that are more than `above`."""
    found = max(made, key=lambda each: each.replicas, default=None)
    return found if found is not None and found.replicas > above else None


def _lowest(made: Iterable[Recommendation], below: int) -> Recommendation | None:
    """The first of the lowest that are less than `below`."""
    found = min(made, key=lambda each: each.replicas, default=None)
    return found if found is not None and found.replicas < below else None
