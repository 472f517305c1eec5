"""Pauses between attempts that fail: growing, jittered, and forgotten after a success."""

import random
from collections.abc import Callable

import msgspec


class BackoffLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait after the first failure, at most, and how much of a pause is chance.

    The defaults are those of client-go's reflector (tools/cache/reflector.go), which keeps a fleet
    of clients from asking a restarted API server in step.
    """

    initial_seconds: float = 0.8
    max_seconds: float = 30.0
    factor: float = 2.0
    jitter_ratio: float = 1.0


class Backoff:
    """The next pause. Not a sleeper: the caller owns the clock."""

    def __init__(
        self,
        limits: BackoffLimits | None = None,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance` gives numbers from 0 up to 1."""
        self._limits = limits or BackoffLimits()
        self._chance = chance
        self._base_seconds = self._limits.initial_seconds

    def next_seconds(self) -> float:
        """The pause before the next attempt; the one after it will be longer."""
        pause_seconds = self._base_seconds * (1 + self._limits.jitter_ratio * self._chance())
        self._base_seconds = min(self._base_seconds * self._limits.factor, self._limits.max_seconds)
        return pause_seconds

    def reset(self) -> None:
        """Call after a success."""
        self._base_seconds = self._limits.initial_seconds
