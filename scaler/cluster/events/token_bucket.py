"""PURE: a token bucket. Time is an argument, in seconds of one clock."""

import msgspec

# Fractions of a token add up to almost one.
_ONE = 1 - 1e-9


class Refill(msgspec.Struct, frozen=True):
    """How many tokens a full bucket has, and how many seconds one takes to come back."""

    burst: int
    seconds_per_token: float


class TokenBucket(msgspec.Struct):
    """The tokens left at a moment. A clock that steps back adds none."""

    tokens: float
    at_seconds: float

    def take(self, refill: Refill, *, now_seconds: float) -> bool:
        """Take one token if there is one."""
        self._fill(refill, now_seconds)
        if self.tokens < _ONE:
            return False
        self.tokens = max(0.0, self.tokens - 1)
        return True

    def wait_seconds(self, refill: Refill, *, now_seconds: float) -> float:
        """How long until there is a token; 0 when there is one."""
        self._fill(refill, now_seconds)
        return 0.0 if self.tokens >= _ONE else (1 - self.tokens) * refill.seconds_per_token

    def _fill(self, refill: Refill, now_seconds: float) -> None:
        added = max(0.0, (now_seconds - self.at_seconds) / refill.seconds_per_token)
        self.tokens = min(float(refill.burst), self.tokens + added)
        self.at_seconds = now_seconds
