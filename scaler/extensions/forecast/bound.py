"""How much is added to a prediction so that the load exceeds it as often as wanted, whatever the load does.

Adaptive conformal inference (Gibbs and Candès, 2021). The errors of the last three days are kept; the addend is one
of them. If the load was above the bound, the next bound is a little higher, and otherwise a little lower.
"""

import math
from bisect import bisect_left, insort

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.state import ALPHA, Errors

GAMMA = 0.005
ALPHA_MIN, ALPHA_MAX = 0.001, 0.9
KEPT_ERRORS = 3 * MINUTES_PER_DAY
NEEDED_ERRORS = 100


def are_enough(errors: Errors) -> bool:
    """Whether a bound can be derived."""
    return len(errors.by_size) >= NEEDED_ERRORS


def addend(errors: Errors) -> float:
    """What is added to a prediction. Only if there are enough errors."""
    by_size = errors.by_size
    rank = math.ceil((len(by_size) + 1) * (1.0 - errors.alpha))
    return by_size[min(max(rank, 1), len(by_size)) - 1]


def judged(errors: Errors, error: float, addend_used: float | None) -> Errors:
    """With the error of one more prediction; `addend_used` is None if it had no bound."""
    by_age, by_size = errors.by_age[:], errors.by_size[:]
    if len(by_age) >= KEPT_ERRORS:
        oldest = by_age.pop(0)
        del by_size[bisect_left(by_size, oldest)]
    by_age.append(error)
    # As it is stored, or it would not be found again.
    insort(by_size, by_age[-1])
    alpha = errors.alpha
    if addend_used is not None:
        alpha += GAMMA * (ALPHA - (1.0 if error > addend_used else 0.0))
        alpha = min(max(alpha, ALPHA_MIN), ALPHA_MAX)
    return Errors(by_age=by_age, by_size=by_size, alpha=alpha)
