"""Which experts to follow, and how far: by what they would have cost, and by the shortage that they would have prevented.

An option is an expert with a margin, or to add nothing. Each has a share, and the replicas are the mean of all options by
their shares. A share falls with the loss of its option, and a small part of all shares is given to the others again, so
that a new best option is found soon: Fixed-Share (Herbster and Warmuth, Tracking the Best Expert, 1998). Over T minutes,
the losses of the shares exceed those of the best option by at most (ln(2 n) + T a) / b, with n options, of which
adding nothing has half of the start, the sharing rate a and the learning rate b; each change of the best option costs
ln(2 n / a) / b more.

    loss = price x added replicas / replicas without the forecast + shortage

The shortage is 0 while the load is at most 1.15 times what the replicas are for, about as with the tolerance of an HPA, and 1
from 1.35 times on. Only replicas that an option wanted in each minute of the lead count: what it wants in some of these
minutes is removed again, or not ready. Two such combinations follow each other: the second one judges what it adds to the first one, so that
a jump that only some days know is not averaged away.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import msgspec

from scaler.extensions.forecast.experts import EXPERTS, LEARNED, Loads
from scaler.extensions.forecast.load_levels import Floats

MARGINS = (0.85, 1.0, 1.2)
OPTIONS = EXPERTS * len(MARGINS)
LEARNING_RATE = 0.5
SHARING_RATE = 1e-4
SHORTAGE_FROM, SHORTAGE_TO = 1.15, 1.35

Shares = tuple[float, ...]
"""That of adding nothing first, then one for each option of the stage."""

_ALL = tuple(range(OPTIONS))
_BEYOND_LEARNED = tuple(range(len(LEARNED) * len(MARGINS), OPTIONS))
STAGES = (_ALL, _BEYOND_LEARNED)


def _start(options: Sequence[int]) -> Shares:
    return (0.5, *[0.5 / len(options)] * len(options))


START = tuple([_start(each) for each in STAGES])
AS_LEARNED: tuple[Shares, ...] = (
    (0.0, 0.0, 1.0, *[0.0] * (OPTIONS - 2)),
    (1.0, *[0.0] * len(_BEYOND_LEARNED)),
)
"""Only the learned expert, without a margin, and nothing beyond it."""


class Combined(msgspec.Struct, frozen=True, kw_only=True):
    """Replicas of one minute: without the forecast, then after each stage."""

    alone: float
    after: tuple[float, ...]


class Wanted(Protocol):
    """What was expected in one minute: the whole replicas of each option, and what came of them."""

    @property
    def options(self) -> Floats:
        """See `options`."""

    @property
    def combined(self) -> Combined:
        """See `combined`."""


def options(loads: Loads, per_replica: float, most: int, into: Floats) -> Floats:
    """The whole replicas that each option is for, at most `most`; 0 for an expert that knows nothing."""
    replicas = into[:0]
    for load in loads:
        for margin in MARGINS:
            needed = 0.0 if load is None else load * margin / per_replica
            replicas.append(math.ceil(min(needed, float(most)) - 1e-9))
    return replicas


def combined(shares: tuple[Shares, ...], replicas: Floats, alone: float) -> Combined:
    """What the options say together, never less than `alone`."""
    after: list[float] = []
    base = alone
    for of_stage, (nothing, *others) in zip(STAGES, shares, strict=True):
        added = [
            share * (replicas[option] - base)
            for share, option in zip(others, of_stage, strict=True)
            if replicas[option] > base
        ]
        base += math.fsum(added) / (nothing + math.fsum(others))
        after.append(base)
    return Combined(alone=alone, after=tuple(after))


def judged(
    shares: tuple[Shares, ...], lead: Sequence[Wanted], needed: float, price: float
) -> tuple[Shares, ...]:
    """With the outcome of a lead: the load at its end needs `needed` replicas. `lead` has its minutes, the oldest first."""
    per_replica = price / max(lead[0].combined.alone, 1.0)
    return tuple(
        [_judged(stage, each, lead, needed, per_replica) for stage, each in enumerate(shares)]
    )


def _judged(
    stage: int, shares: Shares, lead: Sequence[Wanted], needed: float, per_replica: float
) -> Shares:
    bases = [(each.combined.alone, *each.combined.after)[stage] for each in lead]
    wanted = lead[0].options
    shortage = _shortage(needed, min(bases))
    weights = [shares[0] * math.exp(-LEARNING_RATE * shortage)]
    for share, option in zip(shares[1:], STAGES[stage], strict=True):
        loss = per_replica * max(0.0, wanted[option] - bases[0])
        if shortage:
            there = [
                max(base, each.options[option]) for base, each in zip(bases, lead, strict=True)
            ]
            loss += _shortage(needed, min(there))
        weights.append(share * math.exp(-LEARNING_RATE * loss))
    kept = (1.0 - SHARING_RATE) / math.fsum(weights)
    shared = 0.5 * SHARING_RATE
    each_share = shared / (len(shares) - 1)
    return (kept * weights[0] + shared, *[kept * weight + each_share for weight in weights[1:]])


def _shortage(needed: float, replicas: float) -> float:
    ratio = needed / max(replicas, 1.0)
    if ratio <= SHORTAGE_FROM:
        return 0.0
    return min(1.0, (ratio - SHORTAGE_FROM) / (SHORTAGE_TO - SHORTAGE_FROM))
