"""What requests wait for in a round: a backend, or the objects of a resource. Where one gives nothing, no more requests wait for it.

Otherwise a round, and so the metrics of every other backend, would wait for one request after the other.
"""

from typing import Final, NamedTuple, Self

from adapter.model import BackendRef, Plan

FAILING_SECONDS: Final = 0.5
"""After so long without a success, no more is requested in a round."""
REFUSED_SECONDS: Final = 60.0
"""How long a request is not evaluated that is beyond a limit."""
HUNG_SECONDS: Final = (0.0, 5.0, 15.0, REFUSED_SECONDS)
"""The same for those of a backend that answers none in time: after the first round, the next one in which it was tried, and so on. One slow
response of Prometheus must not leave all metrics to GETs for a minute."""
LISTING_SECONDS: Final = (5.0, 5.0, 15.0, REFUSED_SECONDS)
"""The same for those that have waited for objects: the first list of a resource may just take longer than a round waits."""

Source = BackendRef | str
"""A backend, or the name of a resource whose objects are listed."""


class NotEvaluated(Exception):
    """Why a request is not evaluated in a round, and for how long it is not tried again: 0 until the next round.

    `is_temporary`: it is tried again so soon that a client should continue to watch it.
    """

    def __init__(self, why: str, seconds: float = 0.0, *, is_temporary: bool = True) -> None:
        super().__init__(why)
        self.why = why
        self.seconds = seconds
        self.is_temporary = is_temporary

    @classmethod
    def for_long(cls, why: str) -> Self:
        """A client stops watching the request."""
        return cls(why, REFUSED_SECONDS, is_temporary=False)


class _Hung(NamedTuple):
    """Since when a source is not tried in this round, and for how long it is not tried afterwards."""

    at_seconds: float
    pause_seconds: float


class Sources:
    """The sources of one round after the other."""

    def __init__(self) -> None:
        self._answered_at: dict[Source, float] = {}
        self._succeeded_at: dict[Source, float] = {}
        self._failing_since: dict[Source, float] = {}
        self._hung: dict[Source, _Hung] = {}
        self._hung_rounds: dict[Source, int] = {}
        """In how many rounds each has hung since its last answer."""

    def round_begins(self) -> None:
        """Try every source again."""
        self._answered_at.clear()
        self._succeeded_at.clear()
        self._failing_since.clear()
        self._hung.clear()

    def check(self, source: Source, now_seconds: float) -> None:
        """Raises `NotEvaluated` for one that gives nothing."""
        hung = self._hung.get(source)
        if hung is not None:
            raise _later(hung, now_seconds, f"{_named(source)} has not responded to other metrics")
        since = self._failing_since.get(source)
        if since is not None and now_seconds - since > FAILING_SECONDS:
            raise NotEvaluated(f"{_named(source)} has failed for other metrics")

    def succeeded(self, source: Source, now_seconds: float) -> None:
        """It has responded, perhaps that there is nothing."""
        self._answered_at[source] = self._succeeded_at[source] = now_seconds
        self._failing_since.pop(source, None)
        self._hung_rounds.pop(source, None)

    def failed(self, source: Source, began_seconds: float, now_seconds: float) -> None:
        """It has responded with an error, to a request of that time."""
        self._answered_at[source] = now_seconds
        succeeded_at = self._succeeded_at.get(source, began_seconds)
        self._failing_since.setdefault(source, max(began_seconds, succeeded_at))

    def waited(
        self, source: Source | None, began_seconds: float, now_seconds: float
    ) -> NotEvaluated:
        """A request has waited as long as it may. If nothing else has had a response meanwhile, no other request waits either."""
        if source is None:
            return NotEvaluated.for_long("it takes too long")
        if source not in self._hung:
            if self._answered_at.get(source, float("-inf")) > began_seconds:
                return NotEvaluated.for_long(f"{_named(source)} takes too long")
            self._hangs(source, now_seconds)
        return _later(self._hung[source], now_seconds, f"{_named(source)} takes too long")

    def _hangs(self, source: Source, now_seconds: float) -> None:
        rounds = self._hung_rounds[source] = self._hung_rounds.get(source, 0) + 1
        pauses = HUNG_SECONDS if isinstance(source, BackendRef) else LISTING_SECONDS
        self._hung[source] = _Hung(now_seconds, pauses[min(rounds, len(pauses)) - 1])


def _later(hung: _Hung, now_seconds: float, why: str) -> NotEvaluated:
    """All requests of the source are tried again at the same time."""
    left_seconds = max(0.0, hung.at_seconds + hung.pause_seconds - now_seconds)
    return NotEvaluated(why, left_seconds, is_temporary=hung.pause_seconds < REFUSED_SECONDS)


class OwnQueries:
    """The different queries that requests have of their own, in one round after the other. Those of the last round go first.

    Each backend has a limit of its own: while one fails, all requests of its rules have own queries.
    """

    def __init__(self, plans_max: int) -> None:
        self.plans_max = plans_max
        self._taken: dict[BackendRef, set[Plan]] = {}
        self._sent: dict[BackendRef, set[Plan]] = {}

    def round_begins(self) -> None:
        """Reserve the places of those that were sent."""
        self._taken = {backend: plans.copy() for backend, plans in self._sent.items()}
        self._sent = {}

    def admits(self, plan: Plan) -> bool:
        """Whether it may be sent in this round. Equal queries are one."""
        taken = self._taken.setdefault(plan.backend, set())
        if plan not in taken:
            if len(taken) >= self.plans_max:
                return False
            taken.add(plan)
        self._sent.setdefault(plan.backend, set()).add(plan)
        return True


def _named(source: Source) -> str:
    if isinstance(source, BackendRef):
        return f"a result of Prometheus ({source.name})"
    return f"the list of {source}"
