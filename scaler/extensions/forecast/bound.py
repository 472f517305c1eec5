"""What is expected at most: a quantile with a margin, so that it is exceeded as often as it says.

A quantile that is learned from the past is exceeded more often, because loads change. The margin rises by each minute in which the
load was higher, and falls by each one in which it was not, in the ratio of both: after T minutes, the share of the former differs from
the claim by at most the range of the margin / (STEP x T) (Gibbs and Candes, Adaptive Conformal Inference, 2021). It changes only
what is reported: decisions with it would be later and cost more.
"""

import math

from scaler.extensions.forecast.features import limited
from scaler.extensions.forecast.quantiles import BOUND, QUANTILES

CLAIM = QUANTILES[BOUND]
# Of the logarithm of the load.
STEP = 0.005


def with_margin(load: float, margin: float, offset: float) -> float:
    """The load that is expected at most."""
    return max(0.0, (load + offset) * math.exp(margin) - offset)


def next_margin(margin: float, *, is_exceeded: bool) -> float:
    """After one more minute whose lead has passed."""
    change = STEP * CLAIM if is_exceeded else -STEP * (1.0 - CLAIM)
    return limited(margin + change)
