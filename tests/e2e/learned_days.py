"""What a forecast has learned from eight days with 60 in the queue, and 120 for a while each day, soon after now."""

import time
from array import array

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.state import Sums
from tests.e2e.scaler_objects import Json
from tests.learned_forecast import LEARNED_MINUTES, learned_digest, rules_of

USUAL, RAISED = 60.0, 120.0
# Of the minutes after now.
RAISED_MINUTES = range(3, 60)


def learned_days(
    spec: Json, *, wasted_percent: float = 1.0, raised_minutes: range = RAISED_MINUTES
) -> str:
    """The digest, for an autoscaler with this spec. It may act, unless it has wasted too much."""
    rules = rules_of(spec)
    now = int(time.time() // 60)
    first = now - LEARNED_MINUTES
    is_raised = [(minute - now) % MINUTES_PER_DAY in raised_minutes for minute in range(first, now)]
    loads = array("f", (RAISED if each else USUAL for each in is_raised))
    outcome = Sums(alone=100.0, added=4 * wasted_percent, useful=3 * wasted_percent, minutes=10)
    # It is suspended from 95% of its budget on.
    may_act = wasted_percent < 0.95 * rules.budget_percent
    return learned_digest(rules, loads, now - 1, outcome, may_act=may_act)
