"""Planted faults between the clients, the adapter and kube-apiserver: each stands for a defect of the adapter."""

import math
from collections.abc import Callable, Sequence

import msgspec

from tests.simulation.decision_tampering import SwallowsScaleWrites
from tests.simulation.metrics_apis import Measured
from tests.simulation.network import Request, Response
from tests.simulation.rights import ACCESS_REVIEWS
from tests.simulation.scenario import Scenario
from tests.simulation.tampering import AddsReplicas, Tamper, changed, writes_scale

KEPT_SECONDS = 20.0


class ForgetsSelectors(Tamper):
    """A cache of responses has the metric as its key, without the selector."""

    invariant = "values are true"
    has_adapter = True

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, Response]] = {}

    def served(self, measured: Measured, response: Response, now: float) -> Response:
        if not response.ok:
            return response
        kept = self._kept.get(measured.group)
        if kept is None or now - kept[0] >= 1.0:
            kept = self._kept[measured.group] = (now, response)
        return kept[1]


class KeepsResponses(Tamper):
    """A cache of responses keeps them for too long."""

    invariant = "values are fresh"
    has_adapter = True

    def __init__(self) -> None:
        self._kept: dict[Measured, tuple[float, Response]] = {}

    def served(self, measured: Measured, response: Response, now: float) -> Response:
        if not response.ok:
            return response
        kept = self._kept.get(measured)
        if kept is None or now - kept[0] >= KEPT_SECONDS:
            kept = self._kept[measured] = (now, response)
        return kept[1]


class AllowsEverything(Tamper):
    """The adapter takes each SubjectAccessReview for allowed."""

    invariant = "rights are respected"
    has_adapter = True

    def answer(self, request: Request, response: Response) -> Response:
        if request.parts[-1] != ACCESS_REVIEWS or not response.ok:
            return response
        allowed = changed(response, lambda review: review["status"].update(allowed=True))
        return msgspec.structs.replace(allowed, status=201)


class SharesNothing(Tamper):
    """The adapter sends a query for each request."""

    invariant = "queries are shared"
    has_adapter = True
    adapter_flags = ("--metrics-freshness=0s",)


class AddsReplicasBehindTheAdapter(AddsReplicas):
    """The invariants of the scaler judge a run with the adapter, too."""

    has_adapter = True


class IgnoresStreams(SwallowsScaleWrites):
    """The scaler does not use what is streamed, so it writes nothing."""

    invariant = "streams are acted on"
    has_adapter = True
    is_streamed = True


class WaitsForTheRegularReconcile(Tamper):
    """What the limit per period holds back waits until the autoscaler's own period, which is longer, has ended."""

    invariant = "streams are acted on"
    has_adapter = True
    is_streamed = True

    def begin(self, scenario: Scenario) -> None:
        self._waits_seconds = {
            each.key: each.fields.sync_period_seconds or 0 for each in scenario.autoscalers
        }
        self._written_at: dict[str, float] = {}

    def request(self, request: Request) -> Sequence[Request]:
        if not writes_scale(request):
            return [request]
        target, now = request.scale_target, request.sent_at
        if now < self._written_at.get(target, -math.inf) + self._waits_seconds[target]:
            return []
        self._written_at[target] = now
        return [request]


PLANTED_BEHIND_THE_ADAPTER: tuple[Callable[[], Tamper], ...] = (
    ForgetsSelectors, KeepsResponses, AllowsEverything, SharesNothing, AddsReplicasBehindTheAdapter, IgnoresStreams,
    WaitsForTheRegularReconcile,
)  # fmt: skip
