"""What a load is not above with some probability: a linear model of each quantile, which learns one example at a time.

Each weight follows the gradient of the pinball loss (Koenker and Bassett, Regression Quantiles, 1978), with a step of its own that
shrinks with the sum of its squared gradients: AdaGrad (Duchi, Hazan and Singer, Adaptive Subgradient Methods, 2011). Over T examples,
the loss exceeds that of the best weights by a multiple of the root of T at most. The sums forget slowly, so that the steps never end.
"""

from array import array
from collections.abc import Sequence
from itertools import accumulate
from math import fsum, sqrt
from operator import mul

import msgspec

from scaler.extensions.forecast.features import FEATURES, THIRD_HIGHEST_DAY
from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY, Floats

QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.98, 0.995)
BOUND = QUANTILES.index(0.98)
"""The quantile that is reported: what is expected at most."""
WEIGHTS = FEATURES * len(QUANTILES)
RATE = 0.05
HALF_LIFE_EXAMPLES = 5 * MINUTES_PER_DAY
_KEPT = 0.5 ** (1 / HALF_LIFE_EXAMPLES)
_LEAST = 1e-3
# So no sum falls below it.
_RENEWED = (1.0 - _KEPT) * _LEAST


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """The weights of all features for the first quantile, then for the next one, and the sums of the squared gradients of each."""

    weights: Floats
    squares: Floats


def _as_on_most_days(square: float) -> Model:
    weights = [0.0] * WEIGHTS
    for first in range(0, WEIGHTS, FEATURES):
        weights[first + THIRD_HIGHEST_DAY] = 1.0
    return Model(weights=array("f", weights), squares=array("f", [square]) * WEIGHTS)


START = _as_on_most_days(_LEAST)
"""Before anything is learned, the third highest load of the last seven days at this time is expected."""
STEADY_START = _as_on_most_days(100.0)
"""The same, for a forecast that acts at once: it learns as slowly as after about a day, so that no single minute changes it much."""


def predicted(model: Model, features: Floats) -> Sequence[float]:
    """The response for each quantile. A higher quantile is never below a lower one."""
    weights, known = model.weights.tolist(), features.tolist()
    found = (
        fsum(map(mul, weights[first : first + FEATURES], known))
        for first in range(0, WEIGHTS, FEATURES)
    )
    return tuple(accumulate(found, max))


def learned(model: Model, features: Floats, response: float) -> Model:
    """With one more example."""
    # As floats of Python, each is made once.
    known, all_weights, all_squares = (
        each.tolist() for each in (features, model.weights, model.squares)
    )
    weights: list[float] = []
    squares: list[float] = []
    squared_features = [each * each for each in known]
    for quantile, first in zip(QUANTILES, range(0, WEIGHTS, FEATURES), strict=True):
        before = all_weights[first : first + FEATURES]
        is_above = response > fsum(map(mul, before, known))
        slope = -quantile if is_above else 1.0 - quantile
        squared_slope, step = slope * slope, RATE * slope
        sums = [
            _KEPT * each + squared_slope * squared + _RENEWED
            for each, squared in zip(
                all_squares[first : first + FEATURES], squared_features, strict=True
            )
        ]
        squares += sums
        weights += [
            weight - step * feature / root
            for weight, feature, root in zip(before, known, map(sqrt, sums), strict=True)
        ]
    return Model(weights=array("f", weights), squares=array("f", squares))
