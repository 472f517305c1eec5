"""A ridge regression that learns one example at a time and slowly forgets.

Its weights let the data choose: all zero is persistence, one for the rise of yesterday is the seasonal naive
forecast. A load without a season shrinks to persistence.
"""

from scaler.extensions.forecast.load_levels import MINUTES_PER_DAY
from scaler.extensions.forecast.state import FEATURES, Features, Moments

HALF_LIFE_MINUTES = 7 * MINUTES_PER_DAY
_KEPT = 0.5 ** (1 / HALF_LIFE_MINUTES)
_SHRINKAGE = 0.01
_CELLS = tuple((row, column) for row in range(FEATURES) for column in range(row + 1))


def learned(moments: Moments, features: Features, response: float) -> Moments:
    """With one more example."""
    kept, x = _KEPT, features
    return Moments(
        products=tuple(
            [
                kept * each + x[row] * x[column]
                for each, (row, column) in zip(moments.products, _CELLS, strict=True)
            ]
        ),
        responses=tuple(
            [kept * each + one * response for each, one in zip(moments.responses, x, strict=True)]
        ),
    )


def weights(moments: Moments) -> tuple[float, ...]:
    """Those with the least error. The first, the constant, is not shrunk."""
    matrix = [[0.0] * FEATURES for _ in range(FEATURES)]
    for each, (row, column) in zip(moments.products, _CELLS, strict=True):
        matrix[row][column] = each
    for at in range(FEATURES):
        # The small addend keeps a feature that was always 0 from dividing by it.
        matrix[at][at] += 1e-9 + (_SHRINKAGE * matrix[at][at] if at else 0.0)
    return _solved(matrix, moments.responses)


def predicted(found: tuple[float, ...], features: Features) -> float:
    """The response for these features."""
    return sum([one * other for one, other in zip(found, features, strict=True)])


def _solved(lower: list[list[float]], right: tuple[float, ...]) -> tuple[float, ...]:
    """By Cholesky's decomposition, in place. `lower` is the lower triangle of a positive definite matrix."""
    for row in range(FEATURES):
        for column in range(row + 1):
            rest = lower[row][column] - sum(
                [lower[row][k] * lower[column][k] for k in range(column)]
            )
            if row == column:
                lower[row][row] = max(rest, 1e-18) ** 0.5
            else:
                lower[row][column] = rest / lower[column][column]
    half: list[float] = []
    for row in range(FEATURES):
        rest = right[row] - sum([lower[row][k] * half[k] for k in range(row)])
        half.append(rest / lower[row][row])
    found = [0.0] * FEATURES
    for row in reversed(range(FEATURES)):
        rest = half[row] - sum([lower[k][row] * found[k] for k in range(row + 1, FEATURES)])
        found[row] = rest / lower[row][row]
    return tuple(found)
