"""How well a replay of the current spec reproduces what really happened: what the other results are worth."""

from collections.abc import Sequence

import msgspec

TRUSTED_PERCENT = 90.0


class Fidelity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`within_one_percent`: of the time in which the replay has at most one replica more or fewer than recorded.

    `mean_error`: in replicas.
    """

    within_one_percent: float
    mean_error: float

    @classmethod
    def of(cls, errors: Sequence[int]) -> "Fidelity":
        """From the absolute differences of each step, at least one."""
        return cls(
            within_one_percent=100 * sum(1 for each in errors if each <= 1) / len(errors),
            mean_error=sum(errors) / len(errors),
        )

    @property
    def is_trusted(self) -> bool:
        """Whether the results need no warning."""
        return self.within_one_percent >= TRUSTED_PERCENT
