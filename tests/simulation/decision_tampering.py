"""Planted faults of decisions: counts that nothing explains, and counts that are demanded and not written."""

from collections.abc import Sequence

import msgspec

from tests.simulation.faults import FIRST_FAULT_SECONDS
from tests.simulation.memory_objects import MEMORIES
from tests.simulation.metrics_apis import CUSTOM, decoded, metric_of, total
from tests.simulation.network import Request, Response
from tests.simulation.scenario import Scenario
from tests.simulation.tampering import Tamper, writes_scale

SWALLOWS_FROM_SECONDS = 60.0
SWALLOWS_AFTER_CALM_SECONDS = 100.0
CACHED_SECONDS = 90.0


class SwallowsScaleWrites(Tamper):
    """A proxy swallows every write of a scale until some time after the faults are over."""

    invariant = "acted on"

    def begin(self, scenario: Scenario) -> None:
        self._until = scenario.calm_at + SWALLOWS_AFTER_CALM_SECONDS

    def request(self, request: Request) -> Sequence[Request]:
        is_swallowed = (
            writes_scale(request) and SWALLOWS_FROM_SECONDS < request.sent_at < self._until
        )
        return [] if is_swallowed else [request]


class ChangesCounts(Tamper):
    """A bug changes some of the counts that are written."""

    invariant = "explained"

    def begin(self, scenario: Scenario) -> None:
        self.plans = {each.key: each for each in scenario.autoscalers}
        self._replicas = {each.key: each.replicas for each in scenario.autoscalers}

    def changed(self, target: str, before: int, after: int) -> int:
        """The count that is written instead."""
        return after

    def request(self, request: Request) -> Sequence[Request]:
        if not writes_scale(request):
            return [request]
        body = msgspec.json.decode(request.body)
        target = request.scale_target
        wanted = body["spec"].get("replicas", 0)
        body["spec"]["replicas"] = self.changed(target, self._replicas[target], wanted)
        self._replicas[target] = body["spec"]["replicas"]
        return [msgspec.structs.replace(request, body=msgspec.json.encode(body))]


class ShrinksToTheMinimum(ChangesCounts):
    """Each scale-down goes to minReplicas."""

    groups = (CUSTOM,)

    def changed(self, target: str, before: int, after: int) -> int:
        return self.plans[target].min_replicas if after < before else after


class AddsOneReplica(ChangesCounts):
    """Each scale-up is rounded up once more, within the bounds."""

    def changed(self, target: str, before: int, after: int) -> int:
        return min(after + 1, self.plans[target].max_replicas) if after > before else after


class AnswersFromACache(Tamper):
    """A proxy answers metrics from a cache, long after they have changed."""

    invariant = "explained"

    def begin(self, scenario: Scenario) -> None:
        self._cached: dict[str, tuple[float, Response]] = {}

    def answer(self, request: Request, response: Response) -> Response:
        if metric_of(request) is None or not response.ok:
            return response
        at, cached = self._cached.get(request.path, (request.sent_at, response))
        if request.sent_at - at < CACHED_SECONDS:
            self._cached.setdefault(request.path, (at, cached))
            return cached
        self._cached[request.path] = (request.sent_at, response)
        return response


class ScalesNothingWithoutMemories(Tamper):
    """The memories of HPAs cannot be read any more, and a process that has not read them scales nothing."""

    invariant = "acted on"
    theme = ("kill",)
    has_hpas = True

    def begin(self, scenario: Scenario) -> None:
        self._have_read: set[str] = set()

    def request(self, request: Request) -> Sequence[Request]:
        if request.method == "GET" and request.parts[-1] == MEMORIES:
            if request.sent_at > FIRST_FAULT_SECONDS:
                return []
            self._have_read.add(request.process)
        is_swallowed = writes_scale(request) and request.process not in self._have_read
        return [] if is_swallowed else [request]


class RetriesLate(Tamper):
    """After a metric has failed, its autoscaler is not reconciled for an hour."""

    invariant = "reconciled in every period"
    theme = ("metrics",)

    def begin(self, scenario: Scenario) -> None:
        self._failed: set[str] = set()

    def request(self, request: Request) -> Sequence[Request]:
        measured = metric_of(request)
        target = request.scale_target if measured is None else measured.target
        return [] if target in self._failed else [request]

    def answer(self, request: Request, response: Response) -> Response:
        measured = metric_of(request)
        if measured is not None and total(decoded(measured, response.body)) is None:
            self._failed.add(measured.target)
        return response


class StandbyWaits(Tamper):
    """The replica that stands by does not take the Lease when it runs out."""

    invariant = "taken over"
    theme = ("kill",)

    def begin(self, scenario: Scenario) -> None:
        self._leader = ""

    def request(self, request: Request) -> Sequence[Request]:
        if "leases" not in request.parts or request.method not in ("PUT", "POST"):
            return [request]
        self._leader = self._leader or request.process
        return [request] if request.process == self._leader else []


PLANTED_IN_DECISIONS = (
    SwallowsScaleWrites, ShrinksToTheMinimum, AddsOneReplica, AnswersFromACache, ScalesNothingWithoutMemories,
    RetriesLate, StandbyWaits,
)  # fmt: skip
