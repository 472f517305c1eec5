"""How many replicas: each has a price, and more of them are less probably too few.

    cost = price x (added replicas + half of those started or removed) + the probability of shortage

The quantiles say how probable a shortage is. What most days had at this time is the second way to choose. Whether following either of
them was worth its price is judged by what came: each of them, and adding nothing, has a share, which falls with what it has cost, and
the replicas are the mean by their shares. A small part of the shares is divided among all of them again, so that a change is found
soon: Fixed-Share (Herbster and Warmuth, Tracking the Best Expert, 1998). Over T minutes, the costs of the shares exceed those of the
best one by at most (ln 10 + T a) / b, with the sharing rate a and the learning rate b; each change of the best one costs ln(3 / a) / b
more.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from scaler.extensions.forecast.floor import whole
from scaler.extensions.forecast.quantiles import QUANTILES

# In multiples of the load that the replicas are for: no shortage until the first one, about as with the tolerance of an HPA, and
# complete shortage from the second one.
SHORTAGE_FROM, SHORTAGE_TO = 1.175, 1.25
LEARNING_RATE = 0.35
SHARING_RATE = 5e-5
# A short batch may need many times the mean replicas of a day. Its price is that with a mean of a tenth of them: otherwise it would
# not be worth it even if it were certain.
LEAST_MEAN_SHARE = 0.1
# What comes on most days is to be met, too, however short and high it is: its price is that with a mean of half of its replicas.
LEAST_MEAN_SHARE_OF_DAYS = 0.5
# Of the price of a replica for a minute: what it costs to start or remove one, so that noise changes fewer of them.
CHANGE_SHARE = 0.5
# The probability of shortage if nothing is added.
_CERTAIN = 1.0
# Probabilities of too few replicas, from the lowest quantile to the highest one.
_STEPS = 24


def _between(step: int) -> tuple[float, int, float]:
    """A probability, the last quantile that is below it, and how far it is from that one to the next."""
    logarithms = [math.log(1.0 - each) for each in QUANTILES]
    highest, lowest = logarithms[0], logarithms[-1]
    wanted = highest + (lowest - highest) * step / (_STEPS - 1)
    below = max(index for index, each in enumerate(logarithms[:-1]) if each >= wanted - 1e-12)
    way = (logarithms[below] - wanted) / (logarithms[below] - logarithms[below + 1])
    return math.exp(wanted), below, way


_PROBABILITIES = tuple(_between(step) for step in range(_STEPS))


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """In minutes of shortage. `mean` is the price of `mean_replicas` for a minute: as many as there are on average."""

    mean: float
    mean_replicas: float

    def of(self, count: int, replicas: int, least_mean_share: float = LEAST_MEAN_SHARE) -> float:
        """The price of `count` of these replicas for a minute."""
        return self.mean * count / max(self.mean_replicas, least_mean_share * replicas, 1.0)


class Shares(msgspec.Struct, frozen=True, kw_only=True):
    """How far each way to choose is followed. Together with that of adding nothing, they are 1."""

    model: float = 0.7
    days: float = 0.2

    @property
    def nothing(self) -> float:
        """Of the replicas of the metric alone."""
        return 1.0 - self.model - self.days


class Decided(Protocol):
    """The replicas of one minute in each way to choose; those by the model and by days are never fewer than those at present."""

    @property
    def present(self) -> int:
        """Those of the metric alone."""

    @property
    def by_model(self) -> int:
        """Those with the least cost by the quantiles."""

    @property
    def by_days(self) -> int:
        """Those for what most days had."""


def with_least_cost(replicas: Sequence[float], present: int, price: Price, before: int) -> int:
    """Those with the least cost, at least `present`.

    `replicas`: what the load of each quantile needs. `before`: those that were wanted a minute ago.
    """
    kept = max(before, present)

    def cost(count: int, shortage: float) -> float:
        changed = price.of(abs(count - kept), max(count, kept))
        return price.of(count - present, count) + CHANGE_SHARE * changed + shortage

    # Of equal counts, the last one has the lowest probability.
    shortages: dict[int, float] = {}
    for probability, below, way in _PROBABILITIES:
        found = replicas[below] + (replicas[below + 1] - replicas[below]) * way
        shortages[max(present, whole(found))] = probability
    best, least = present, cost(present, _CERTAIN)
    for count, probability in shortages.items():
        costs = cost(count, probability)
        if costs < least:
            best, least = count, costs
    return best


def followed(shares: Shares, found: Decided) -> int:
    """The whole replicas with the forecast, as far as it has proved itself."""
    by_model = shares.model * (found.by_model - found.present)
    by_days = shares.days * (found.by_days - found.present)
    return found.present + round(by_model + by_days)


def judged(shares: Shares, lead: Sequence[Decided], needed: float, price: Price) -> Shares:
    """The shares with the outcome of a lead: the load at its end needs `needed` replicas.

    `lead` has its minutes, the oldest first. Only replicas that were wanted in each of them were there at the end.
    """
    first = lead[0]
    of_model = price.of(first.by_model - first.present, first.by_model)
    of_days = price.of(first.by_days - first.present, first.by_days, LEAST_MEAN_SHARE_OF_DAYS)
    alone = _shortage(needed, min([each.present for each in lead]))
    if alone:
        of_model += _shortage(needed, min([each.by_model for each in lead]))
        of_days += _shortage(needed, min([each.by_days for each in lead]))
    nothing = shares.nothing * math.exp(-LEARNING_RATE * alone)
    model = shares.model * math.exp(-LEARNING_RATE * of_model)
    days = shares.days * math.exp(-LEARNING_RATE * of_days)
    kept = (1.0 - SHARING_RATE) / (nothing + model + days)
    return Shares(model=kept * model + SHARING_RATE / 3.0, days=kept * days + SHARING_RATE / 3.0)


def _shortage(needed: float, replicas: int) -> float:
    ratio = needed / max(replicas, 1)
    if ratio <= SHORTAGE_FROM:
        return 0.0
    return min(1.0, (ratio - SHORTAGE_FROM) / (SHORTAGE_TO - SHORTAGE_FROM))
