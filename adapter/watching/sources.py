"""What requests wait for in a round: a backend, or the objects of a resource. Where one gives nothing, no more requests wait for it.

Otherwise a round, and so the metrics of every other backend, would wait for one request after the other.
"""

from typing import Final

from adapter.model import BackendRef, Plan

FAILING_SECONDS: Final = 0.5
"""After so long without a success, no more is requested in a round."""
REFUSED_SECONDS: Final = 60.0
"""How long a request is not evaluated that is beyond a limit."""
HUNG_SECONDS: Final = (0.0, 5.0, 15.0, REFUSED_SECONDS)
"""The same for those of a backend that answers none in time, in the first round, the next one in which they are evaluated, and so on: one
slow response of Prometheus must not leave all metrics of a minute to GETs."""
LISTING_SECONDS: Final = 5.0
"""The same for one that has waited for objects: the first list of a resource may just take longer than a round waits."""

Source = BackendRef | str
"""A backend, or the name of a resource whose objects are listed."""


class NotEvaluated(Exception):
    """Why a request is not evaluated in a round, and for how long it is not tried again: 0 until the next round."""

    def __init__(self, why: str, seconds: float = 0.0) -> None:
        super().__init__(why)
        self.why = why
        self.seconds = seconds

    @property
    def is_temporary(self) -> bool:
        """Whether it is evaluated again so soon that a client should go on to watch it."""
        return self.seconds < REFUSED_SECONDS


class Sources:
    """The sources of one round after the other."""

    def __init__(self) -> None:
        self._answered_at: dict[Source, float] = {}
        self._succeeded_at: dict[Source, float] = {}
        self._failing_since: dict[Source, float] = {}
        self._hung: set[Source] = set()
        self._hung_rounds: dict[Source, int] = {}
        """In how many, without an answer since the first one."""

    def round_begins(self) -> None:
        """Try every source again."""
        self._answered_at.clear()
        self._succeeded_at.clear()
        self._failing_since.clear()
        self._hung.clear()

    def check(self, source: Source, now_seconds: float) -> None:
        """Raises `NotEvaluated` for one that gives nothing."""
        if source in self._hung:
            why = f"{_named(source)} has not responded to other metrics"
            raise NotEvaluated(why, self._refused_seconds(source))
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

    def waited(self, source: Source | None, began_seconds: float) -> NotEvaluated:
        """A request has waited as long as it may. If nothing else has had a response meanwhile, no other request waits either."""
        if source is None:
            return NotEvaluated("it takes too long", REFUSED_SECONDS)
        if self._answered_at.get(source, float("-inf")) <= began_seconds:
            if source not in self._hung:
                self._hung_rounds[source] = self._hung_rounds.get(source, 0) + 1
            self._hung.add(source)
        return NotEvaluated(f"{_named(source)} takes too long", self._refused_seconds(source))

    def _refused_seconds(self, source: Source) -> float:
        if not isinstance(source, BackendRef):
            return LISTING_SECONDS
        if source not in self._hung:
            return REFUSED_SECONDS
        return HUNG_SECONDS[min(self._hung_rounds[source], len(HUNG_SECONDS)) - 1]


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
