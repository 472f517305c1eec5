"""`python -m testbed.oracle.keda.record`: record KEDA's fallback and its scaling from and to zero, with its own code.

The requirements in go.mod and the sums in go.sum are those that github.com/kedacore/keda/v2 itself ships.
"""

import itertools
import sys
from pathlib import Path

import msgspec

from testbed.oracle import recorded

HERE = Path(__file__).parent
VECTORS = "keda.jsonl"


class FallbackCase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A metric that has failed too often. `value_milli` is what KEDA reports in its place, None for an error."""

    target: str
    type: str
    behavior: str
    replicas: int
    current: int
    ready: int
    value_milli: int | None = None


class ZeroCase(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One poll of all triggers. `replicas` is what KEDA leaves to the HPA, or sets itself."""

    current: int
    min_replicas: int
    is_active: bool
    is_error: bool
    cooldown_seconds: int
    inactive_seconds: int
    replicas: int = 0


class Cases(msgspec.Struct, frozen=True, kw_only=True):
    """All of them."""

    fallbacks: list[FallbackCase]
    zeros: list[ZeroCase]


def cases() -> Cases:
    """Every combination of these values."""
    counts = (0, 1, 4, 10, 11, 30)
    fallbacks = [
        FallbackCase(
            target=target, type=kind, behavior=behavior, replicas=replicas, current=current, ready=current
        )
        for target, kind, behavior, replicas, current in itertools.product(
            ("10", "3", "1500m"),
            ("AverageValue", "Value"),
            ("static", "currentReplicas", "currentReplicasIfHigher"),
            (0, 1, 5, 10, 100),
            counts,
        )
    ]  # fmt: skip
    zeros = [
        ZeroCase(
            current=current, min_replicas=low, is_active=active, is_error=error,
            cooldown_seconds=300, inactive_seconds=inactive,
        )
        for current, low, active, error, inactive in itertools.product(
            (0, 1, 4), (0, 2), (False, True), (False, True), (0, 100, 299, 302, 4000)
        )
    ]  # fmt: skip
    return Cases(fallbacks=fallbacks, zeros=zeros)


def main() -> int:
    """Build the program, run the cases, and write the vectors."""
    recorded.write(VECTORS, [recorded.answered(HERE, cases(), Cases)])
    return 0


def read() -> Cases:
    """The vectors."""
    (found,) = recorded.read(VECTORS, Cases)
    return found


if __name__ == "__main__":
    sys.exit(main())
