"""Planted faults: what would break an invariant, so that it can be shown to bite.

A `Tamper` sits between the replicas and the model, and the journal does not know of it.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from scaler.cluster.clock import Clock
from tests.simulation.faults import FIRST_FAULT_SECONDS
from tests.simulation.metrics_apis import EXTERNAL, Measured, metric_of
from tests.simulation.network import Request, Response
from tests.simulation.scenario import Scenario


class Tamper:
    """Changes nothing."""

    invariant = ""
    """Which one it must break."""
    theme: tuple[str, ...] = ()
    """The kinds of faults that show it; empty: whatever the seed has."""
    field = ""
    """The additional field that shows it, by its name in `field_scenarios`; dates: schedules in local time."""
    is_sharded = False
    """Whether it needs replicas that share the namespaces."""
    has_hpas = False
    """Whether it needs HPAs, whose memories are stored."""

    has_adapter = False
    """Whether it needs the adapter."""
    is_streamed = False
    """Whether it needs streamed metrics, too."""
    added: tuple[str, ...] = ()
    """The flags that add the faults (`added_faults`) under which it must be found."""
    adapter_flags: tuple[str, ...] = ()
    """Of the adapter, besides its own."""

    groups: tuple[str, ...] = ()
    """The metrics APIs that it needs, for autoscalers without `behavior`; empty: whatever the seed has."""

    def begin(self, scenario: Scenario) -> None:
        """Before the simulation of this scenario."""

    def request(self, request: Request) -> Sequence[Request]:
        """What reaches the server instead: the first is answered, the others only cost."""
        return [request]

    def answer(self, request: Request, response: Response) -> Response:
        """What reaches the process instead."""
        return response

    def served(self, measured: Measured, response: Response, now: float) -> Response:
        """What reaches a client of the adapter instead."""
        return response

    def clock(self, clock: Clock) -> Clock:
        """What the process takes for its clock."""
        return clock

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        """What the cluster has instead of the spec that a user wrote."""
        return spec


class AddsReplicas(Tamper):
    """A bug adds a hundred to every write of a scale."""

    invariant = "within bounds"

    def request(self, request: Request) -> Sequence[Request]:
        if not writes_scale(request):
            return [request]
        body = msgspec.json.decode(request.body)
        body["spec"]["replicas"] = body["spec"].get("replicas", 0) + 100
        return [msgspec.structs.replace(request, body=msgspec.json.encode(body))]


class HidesTheHolder(Tamper):
    """A Lease seems free to every reader."""

    invariant = "one writer"

    def answer(self, request: Request, response: Response) -> Response:
        if "leases" not in request.parts or request.method != "GET" or not response.ok:
            return response
        return changed(response, lambda lease: lease["spec"].update(holderIdentity=""))


class HidesMembers(Tamper):
    """No replica sees the Leases of other members."""

    invariant = "one writer"
    is_sharded = True

    def __init__(self) -> None:
        self._processes: dict[str, str] = {}

    def request(self, request: Request) -> Sequence[Request]:
        if b"-member-" in request.body:
            holder = msgspec.json.decode(request.body)["spec"]["holderIdentity"]
            self._processes.setdefault(holder, request.process)
        return [request]

    def answer(self, request: Request, response: Response) -> Response:
        if request.parts[-1] != "leases" or request.method != "GET" or not response.ok:
            return response

        def hide(found: dict[str, Any]) -> None:
            found["items"] = [
                each
                for each in found["items"]
                if "-member-" not in each["metadata"]["name"]
                or self._processes.get(each["spec"]["holderIdentity"]) == request.process
            ]

        return changed(response, hide)


class HidesNews(Tamper):
    """The watches of autoscalers stay silent, so that no replica sees a rival."""

    invariant = "one autoscaler"
    theme = ("rival",)

    def request(self, request: Request) -> Sequence[Request]:
        is_news = request.is_watch and request.parts[-1] in (
            "loadautoscalers",
            "horizontalpodautoscalers",
        )
        return [] if is_news else [request]


class FailuresBecomeZero(Tamper):
    """A proxy answers for a metrics API that is out of order: with a zero."""

    invariant = "on good values"
    theme = ("metrics",)

    def answer(self, request: Request, response: Response) -> Response:
        measured = metric_of(request)
        if measured is None or measured.group != EXTERNAL or b'"items":[{' in response.body:
            return response
        item = {
            "metricName": request.parts[-1],
            "metricLabels": {},
            "timestamp": "2023-11-14T22:13:20Z",
            "value": "0",
        }
        body = {
            "kind": "ExternalMetricValueList",
            "apiVersion": f"{EXTERNAL}/v1beta1",
            "metadata": {},
            "items": [item],
        }
        return Response(body=msgspec.json.encode(body))


class ForgetsAnAutoscaler(Tamper):
    """From some moment on the scale of one target is never read again, and no copy is confirmed."""

    invariant = "reconciled in every period"

    def request(self, request: Request) -> Sequence[Request]:
        is_forgotten = _watches_targets(request) or (
            "web0" in request.parts and request.parts[-1] == "scale" and request.sent_at > 200
        )
        return [] if is_forgotten else [request]


class OneAtATime(Tamper):
    """No other scale is read while a metric is waited for: one slow metric holds up everything."""

    invariant = "reconciled in every period"
    theme = ("metrics",)

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()

    def request(self, request: Request) -> Sequence[Request]:
        if metric_of(request) is not None:
            self._waiting[request.process] += 1
        elif request.parts[-1] == "scale" and self._waiting[request.process] > 0:
            return []
        return [] if _watches_targets(request) else [request]

    def answer(self, request: Request, response: Response) -> Response:
        if metric_of(request) is not None:
            self._waiting[request.process] -= 1
        return response


class ClockRaises(Tamper):
    """Somewhere in a reconcile there is a bug."""

    invariant = "no tracebacks"

    def clock(self, clock: Clock) -> Clock:
        calls = Counter[str]()

        def now() -> float:
            calls["now"] += 1
            if calls["now"] == 50:
                raise RuntimeError("planted")
            return clock.now()

        return Clock(now=now, monotonic=clock.monotonic)


class ChattyEvents(Tamper):
    """Every event is written ten times."""

    invariant = "within budgets"

    def request(self, request: Request) -> Sequence[Request]:
        return [request] * (10 if "events" in request.parts else 1)


class Leaps(Tamper):
    """Every clock of the process leaps ahead all the time, so that what it remembers grows old too soon."""

    every_seconds = 1.0
    leap_seconds = 2.0

    def clock(self, clock: Clock) -> Clock:
        born = clock.monotonic()

        def leapt() -> float:
            return (clock.monotonic() - born) // self.every_seconds * self.leap_seconds

        return Clock(
            now=lambda: clock.now() + leapt(), monotonic=lambda: clock.monotonic() + leapt()
        )


class WindowsExpire(Leaps):
    """Recommendations are forgotten before their window is over."""

    invariant = "stabilized"


class BudgetsRenew(Leaps):
    """Changes are forgotten before a policy's period is over."""

    invariant = "no budget twice"


class WritesAreLost(Tamper):
    """From some moment on no write of a scale is done."""

    invariant = "where undisturbed"

    def request(self, request: Request) -> Sequence[Request]:
        return [] if writes_scale(request) and request.sent_at > 100 else [request]


class ClaimsAreLost(Tamper):
    """From some moment on no shard is claimed."""

    invariant = "taken over"
    theme = ("kill",)
    is_sharded = True

    def request(self, request: Request) -> Sequence[Request]:
        is_claim = request.method in ("PUT", "POST") and b"-shard-" in request.body
        return [] if is_claim and request.sent_at > FIRST_FAULT_SECONDS else [request]


class RepeatsWrites(Tamper):
    """A proxy sends a write of a scale again, as the request of another replica."""

    invariant = "written once"
    is_sharded = True

    def __init__(self) -> None:
        self._write: Request | None = None

    def request(self, request: Request) -> Sequence[Request]:
        write = self._write
        if writes_scale(request):
            self._write = request
        elif (
            write is not None
            and write.replica != request.replica
            and metric_of(request) is not None
        ):
            self._write = None
            body = msgspec.json.decode(write.body)
            body["metadata"].pop("resourceVersion", None)
            again = {"process": request.process, "sent_at": request.sent_at}
            return [msgspec.structs.replace(write, body=msgspec.json.encode(body), **again)]
        return [request]


PLANTED: tuple[Callable[[], Tamper], ...] = (
    AddsReplicas, HidesTheHolder, HidesNews, FailuresBecomeZero, ForgetsAnAutoscaler, OneAtATime,
    ClockRaises, ChattyEvents, WindowsExpire, BudgetsRenew, WritesAreLost,
    ClaimsAreLost, RepeatsWrites, HidesMembers,
)  # fmt: skip


def _watches_targets(request: Request) -> bool:
    """Without a watch every reconcile reads the scale."""
    return request.parts[-1] == "deployments"


def without_field(found: dict[str, Any], field: str) -> dict[str, Any]:
    """The same without this field."""
    return {key: value for key, value in found.items() if key != field}


def writes_scale(request: Request) -> bool:
    return request.method == "PUT" and request.parts[-1] == "scale"


def changed(response: Response, change: Callable[[Any], None]) -> Response:
    document = msgspec.json.decode(response.body)
    change(document)
    return Response(status=response.status, body=msgspec.json.encode(document))
