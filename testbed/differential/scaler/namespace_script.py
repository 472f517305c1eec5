"""The script of one namespace: its scale targets and metrics, and the gate that every reconcile passes.

Both programs start a reconcile by reading the target's Scale. The scripted target holds that request for a moment,
in which the harness reads the results of the previous reconcile and sets the state for the next one.

The hold must be short: after a reconcile that takes longer than the sync period, the HPA controller starts the next
one at once, with an autoscaler from before its own status update, and then fails to update the status.
"""

import asyncio
import time
from collections.abc import Iterable

from testbed.differential.scaler.scenario_model import ClusterState, ErrorResponse, Scale

RECONCILE_DEADLINE_SECONDS = 30.0
CONFLICT = 409


class NoReconcile(Exception):
    """A program has not started its next reconcile in time."""


class Arrival:
    """A reconcile that waits at a gate."""

    def __init__(self) -> None:
        self.arrived_at = time.monotonic()
        self.released = asyncio.Event()

    def held_for_seconds(self) -> float:
        """The time since it arrived."""
        return time.monotonic() - self.arrived_at


class Gate:
    """Reconciles wait here until they are released one by one, or pass if the gate is open."""

    def __init__(self) -> None:
        self._arrivals: asyncio.Queue[Arrival] = asyncio.Queue()
        self._waiting: set[Arrival] = set()
        self._expects_reread = False
        self._is_open = False

    async def passed(self) -> None:
        """Wait for the release; a second read within the same reconcile passes."""
        is_reread, self._expects_reread = self._expects_reread, False
        if self._is_open or is_reread:
            return
        arrival = Arrival()
        self._waiting.add(arrival)
        self._arrivals.put_nowait(arrival)
        try:
            await arrival.released.wait()
        finally:
            self._waiting.discard(arrival)

    def expect_reread(self) -> None:
        """The next read belongs to the same reconcile, because its write has failed."""
        self._expects_reread = True

    async def arrived(self) -> Arrival:
        """Wait for the next reconcile, whose arrival means that the previous one has ended. Raises NoReconcile."""
        try:
            return await asyncio.wait_for(self._arrivals.get(), RECONCILE_DEADLINE_SECONDS)
        except TimeoutError:
            raise NoReconcile(f"no reconcile within {RECONCILE_DEADLINE_SECONDS:g} s") from None

    def open(self) -> None:
        """Release all reconciles, now and later."""
        self._is_open = True
        for arrival in self._waiting:
            arrival.released.set()


class Target:
    """A scripted scale target: its replicas and every write to its Scale."""

    def __init__(self, scale: Scale, *, is_reread_after_each_error: bool) -> None:
        """`is_reread_after_each_error`: the program reads it again after each failed write, not only after a conflict."""
        self.gate = Gate()
        self._is_reread_after_each_error = is_reread_after_each_error
        self.scale = scale
        self.replicas = scale.replicas or 0
        self.version = 1
        self.writes: list[int] = []
        self._write_errors = list(scale.put)

    def change(self, scale: Scale) -> None:
        """Apply the next step; fields that the step does not set keep their values."""
        if scale == self.scale:
            return
        self.scale = scale
        self._write_errors = list(scale.put)
        if scale.replicas is not None and scale.replicas != self.replicas:
            self.replicas = scale.replicas
            self.version += 1

    @property
    def status_replicas(self) -> int:
        """The scripted number, by default that of the spec."""
        return self.replicas if self.scale.status is None else self.scale.status

    def write(self, replicas: int, version: str) -> ErrorResponse | None:
        """Handle a PUT; returns an error if one is scripted or the resourceVersion is stale."""
        self.writes.append(replicas)
        error = self._write_errors.pop(0) if self._write_errors else None
        if error is None and version not in ("", str(self.version)):
            error = ErrorResponse(
                code=409, reason="Conflict", message="the target has been modified"
            )
        if error is None:
            self.replicas = replicas
            self.version += 1
        elif error.code == CONFLICT or self._is_reread_after_each_error:
            self.gate.expect_reread()
        return error


class NamespaceScript:
    """One namespace: its scripted targets and metrics, and the recorded metric requests."""

    def __init__(self, state: ClusterState, *, is_reread_after_each_error: bool) -> None:
        """`is_reread_after_each_error`: of its targets."""
        self.state = state
        self.targets = {
            each.name: Target(each.scale, is_reread_after_each_error=is_reread_after_each_error)
            for each in state.autoscalers
            if each.is_scripted
        }
        self.requests: set[str] = set()
        self.request_count = 0

    def apply(self, state: ClusterState) -> None:
        """Change to the state of the next step."""
        self.state = state
        self.requests = set()
        for autoscaler in state.autoscalers:
            if autoscaler.is_scripted:
                self.targets[autoscaler.name].change(autoscaler.scale)

    def record_request(self, request_path: str) -> None:
        """Record a request of this step."""
        self.requests.add(request_path)
        self.request_count += 1

    def gates(self) -> Iterable[Gate]:
        """The gates of all scripted targets."""
        return (target.gate for target in self.targets.values())
