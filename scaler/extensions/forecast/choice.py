"""How many replicas: each has a price, and more of them are less probably too few.

    cost = price x (added replicas + half of those started or removed) + the probability of shortage

The quantiles say how probable a shortage is. Whether following them was worth its price is judged by what came: the forecast and adding
nothing each have a share, which falls with what they have cost, and the replicas are the mean of both by their shares. A small part
of the shares is given to the other again, so that a change is found soon: Fixed-Share (Herbster and Warmuth, Tracking the Best
Expert, 1998). Over T minutes, the costs of the shares exceed those of the better one by at most (ln 10 + T a) / b, with the sharing
rate a and the learning rate b; each change of the better one costs ln(2 / a) / b more.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from scaler.extensions.forecast.quantiles import QUANTILES

# In multiples of the load that the replicas are for: no shortage until the first one, about as with the tolerance of an HPA, and
# complete shortage from the second one.
SHORTAGE_FROM, SHORTAGE_TO = 1.175, 1.25
LEARNING_RATE = 0.35
SHARING_RATE = 1e-4
SHARE_AT_START = 0.9
# A short batch may need many times the mean replicas of a day. Its price is that with a mean of a tenth of them: otherwise it would
# not be worth it even if it were certain.
LEAST_MEAN_SHARE = 0.1
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

    def of(self, count: int, replicas: int) -> float:
        """The price of `count` of these replicas for a minute."""
        return self.mean * count / max(self.mean_replicas, LEAST_MEAN_SHARE * replicas, 1.0)


class Wanted(Protocol):
    """What was decided in one minute: the replicas of the metric alone, and those that the quantiles want."""

    @property
    def present(self) -> int:
        """Without the forecast."""

    @property
    def wanted(self) -> int:
        """With it, if it were followed in full."""


def wanted(replicas: Sequence[float], present: int, price: Price, before: int) -> int:
    """Those with the least cost, at least `present`.

    `replicas`: what the load of each quantile needs. `before`: those that were wanted a minute ago.
    """
    kept = max(before, present)

    def cost(count: int, shortage: float) -> float:
        changed = price.of(abs(count - kept), max(count, kept))
        return price.of(count - present, count) + CHANGE_SHARE * changed + shortage

    best, least = present, cost(present, _CERTAIN)
    for probability, below, way in _PROBABILITIES:
        found = replicas[below] + (replicas[below + 1] - replicas[below]) * way
        count = max(present, math.ceil(found - 1e-9))
        costs = cost(count, probability)
        if costs < least:
            best, least = count, costs
    return best


def followed(share: float, found: Wanted) -> int:
    """The whole replicas with the forecast, as far as it has proved itself."""
    return found.present + round(share * (found.wanted - found.present))


def judged(share: float, lead: Sequence[Wanted], needed: float, price: Price) -> float:
    """The share of the forecast, with the outcome of a lead: the load at its end needs `needed` replicas.

    `lead` has its minutes, the oldest first. Only replicas that were wanted in each of them were there at the end.
    """
    first = lead[0]
    alone = _shortage(needed, min([each.present for each in lead]))
    cost = price.of(first.wanted - first.present, first.wanted)
    if alone:
        cost += _shortage(needed, min([each.wanted for each in lead]))
    following = share * math.exp(-LEARNING_RATE * cost)
    nothing = (1.0 - share) * math.exp(-LEARNING_RATE * alone)
    return (1.0 - SHARING_RATE) * (following / (following + nothing)) + 0.5 * SHARING_RATE


def _shortage(needed: float, replicas: int) -> float:
    ratio = needed / max(replicas, 1)
    if ratio <= SHORTAGE_FROM:
        return 0.0
    return min(1.0, (ratio - SHORTAGE_FROM) / (SHORTAGE_TO - SHORTAGE_FROM))
