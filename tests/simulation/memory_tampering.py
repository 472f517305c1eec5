"""Planted faults of memories that are stored in ScalingMemory objects, and of the clocks that their times are of."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from scaler.cluster.clock import Clock
from tests.simulation.faults import FIRST_FAULT_SECONDS
from tests.simulation.memory_objects import DAMAGED, MEMORIES
from tests.simulation.network import Request, Response
from tests.simulation.tampering import Leaps, Tamper


class _OfHPAs(Tamper):
    has_hpas = True


class WritesObjects(_OfHPAs):
    """The scaler updates HPAs instead of their status."""

    invariant = "only status written"

    def request(self, request: Request) -> Sequence[Request]:
        is_status = request.method == "PUT" and request.path.endswith("/status")
        path = request.path.removesuffix("/status") if is_status else request.path
        return [msgspec.structs.replace(request, path=path)]


class MemoriesGrow(_OfHPAs):
    """Something is added to each ScalingMemory that is written."""

    invariant = "memory within limit"

    def request(self, request: Request) -> Sequence[Request]:
        if not _writes_memory(request):
            return [request]
        return [msgspec.structs.replace(request, body=request.body + b" " * 600_000)]


class MemoriesAreEmptied(_OfHPAs):
    """Each write of a ScalingMemory removes the histories from it."""

    invariant = "memory kept"
    theme = ("kill",)

    def request(self, request: Request) -> Sequence[Request]:
        if not _writes_memory(request) or request.sent_at < FIRST_FAULT_SECONDS:
            return [request]
        body = {**msgspec.json.decode(request.body), "histories": {}}
        return [msgspec.structs.replace(request, body=msgspec.json.encode(body))]


class DamageIsHidden(_OfHPAs):
    """A process does not get the objects that are damaged, so it does not know that there is a memory."""

    invariant = "loss reported"
    theme = ("kill",)

    def answer(self, request: Request, response: Response) -> Response:
        if request.parts[-1] != MEMORIES or request.method != "GET" or not response.ok:
            return response
        found: dict[str, Any] = msgspec.json.decode(response.body)
        found["items"] = [
            each for each in found["items"] if DAMAGED not in each["histories"].values()
        ]
        return Response(body=msgspec.json.encode(found))


class FirstCountsExpire(Leaps):
    """The count that a process without a memory begins with is forgotten before its window is over."""

    invariant = "as after a restart"
    has_hpas = True


class MemoriesAreLost(_OfHPAs):
    """From some moment on no ScalingMemory is written."""

    invariant = "memory stored"

    def request(self, request: Request) -> Sequence[Request]:
        is_late = request.sent_at > FIRST_FAULT_SECONDS
        return [] if _writes_memory(request) and is_late else [request]


class ClocksDiffer(Tamper):
    """The wall clock of a process is 25 s ahead of that of the one that started before it."""

    invariant = "stabilized"
    theme = ("kill", "terminate")

    def __init__(self) -> None:
        self._ahead_seconds = 0.0

    def clock(self, clock: Clock) -> Clock:
        ahead_seconds = self._ahead_seconds = self._ahead_seconds + 25.0
        return Clock(now=lambda: clock.now() + ahead_seconds, monotonic=clock.monotonic)


PLANTED_IN_MEMORIES: tuple[Callable[[], Tamper], ...] = (
    WritesObjects, MemoriesGrow, MemoriesAreEmptied, DamageIsHidden, FirstCountsExpire, MemoriesAreLost,
    ClocksDiffer,
)  # fmt: skip


def _writes_memory(request: Request) -> bool:
    return request.method in ("PUT", "POST") and MEMORIES in request.parts
