"""What the forecast may spend on being early: replicas that it added and that the load did not need within the lead.

The price of a replica rises with the used part of the budget, so that the forecast spends where a replica prevents most
shortage. Once the budget of the last 24 hours is used, nothing more is added: what has no outcome yet counts as used.
"""

import math

import msgspec

from scaler.extensions.forecast.choice import Price
from scaler.extensions.forecast.state import Forecast, Issued

# In minutes of shortage, of as many replicas for a minute as there are on average.
PRICE = 0.055
PRICE_RISES_FROM = 0.2
PRICE_EXPONENT = 3.0


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Replica-minutes of the last 24 hours."""

    allowed: float
    used: float
    mean_replicas: float
    """Without the forecast, and without a burst."""

    @property
    def used_share(self) -> float:
        """1: it is used up."""
        return self.used / self.allowed if self.allowed > 0.0 else 1.0

    @property
    def price(self) -> Price:
        """Of more replicas."""
        share = min(self.used_share, 1.0) - PRICE_RISES_FROM
        mean = PRICE * math.exp(PRICE_EXPONENT * max(0.0, share))
        return Price(mean=mean, mean_replicas=self.mean_replicas)

    def replicas(self, minutes: int) -> int:
        """How many can be added for so many minutes, even if none of them is needed."""
        return max(0, math.floor((self.allowed - self.used) / minutes))


def budget_of(state: Forecast, percent: float) -> Budget:
    """At present."""
    day, current = state.outcomes.day, state.outcomes.current
    wasted = day.added - day.useful + current.added - current.useful
    alone = day.alone - state.outcomes.burst + current.alone
    return Budget(
        allowed=percent / 100.0 * alone,
        mean_replicas=alone / max(day.minutes + current.minutes, 1),
        used=wasted + math.fsum([_pending(each) for each in state.issued]),
    )


def _pending(issued: Issued) -> float:
    return float((issued.final - issued.alone) * issued.minutes)
