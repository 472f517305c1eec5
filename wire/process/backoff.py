"""Exponential backoff with jitter."""

import random
from collections.abc import Callable

import msgspec


class BackoffLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The first and the longest pause, the growth, and the random share on top of each pause.

    The defaults are those of client-go's reflector (tools/cache/reflector.go). The jitter keeps a
    fleet of clients from sending their requests to a restarted API server at the same moments.
    """

    initial_seconds: float = 0.8
    max_seconds: float = 30.0
    factor: float = 2.0
    jitter_ratio: float = 1.0


class Backoff:
    """Computes the pauses between failing attempts; the caller sleeps."""

    def __init__(
        self,
        limits: BackoffLimits | None = None,
        *,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`chance` returns random numbers in [0, 1)."""
        self._limits = limits or BackoffLimits()
        self._chance = chance
        self._base_seconds = self._limits.initial_seconds

    def next_seconds(self) -> float:
        """The pause before the next attempt. Each call makes the next pause longer."""
        pause_seconds = self._base_seconds * (1 + self._limits.jitter_ratio * self._chance())
        self._base_seconds = min(self._base_seconds * self._limits.factor, self._limits.max_seconds)
        return pause_seconds

    def reset(self) -> None:
        """Start again with the first pause. Call after a success."""
        self._base_seconds = self._limits.initial_seconds
