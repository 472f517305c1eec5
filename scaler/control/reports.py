"""What a reconcile leaves for users and for the next process: the status, the events and the log.

A failure that stays the same is reported once (`reported`).
"""

import logging
from collections.abc import Sequence

import msgspec

from scaler.algorithm.decision import Decision, ErrorClass, Event, EventType, Outcome, warning
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import AnyMemory
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus
from scaler.cluster.clock import Clock
from scaler.cluster.failed_requests import worded
from scaler.cluster.status import status_body, written_version
from scaler.control.dependencies import Dependencies
from scaler.control.memories import Memories
from scaler.control.record import Record
from wire.api.status import StatusError, Unavailable

log = logging.getLogger(__name__)


class Reports:
    """Writes them for autoscalers of one kind."""

    def __init__(
        self, dependencies: Dependencies, settings: Settings, memories: Memories, clock: Clock
    ) -> None:
        self._with = dependencies
        self._settings = settings
        self._kind = settings.kind
        self._memories = memories
        self._clock = clock

    async def report(self, record: Record, autoscaler: Autoscaler, outcome: Outcome) -> Outcome:
        """Write the status and the events of a reconcile, and log what went wrong; the outcome with that."""
        self.emit(record, autoscaler, outcome.events)
        if self._must_write(record, outcome):
            failure = await self._write_status(record, autoscaler, outcome)
            if failure and outcome.error:
                self.log(record, autoscaler.key, outcome.error)
            if failure:
                outcome = msgspec.structs.replace(
                    outcome, error=failure, error_class=ErrorClass.INTERNAL
                )
        self.emit(record, autoscaler, outcome.events_after_status)
        if outcome.error:
            self.log(record, autoscaler.key, outcome.error)
        return outcome

    def _must_write(self, record: Record, outcome: Outcome) -> bool:
        """Whether the status says something new, or has said the same about the metrics for too long."""
        if self._memories.must_store(record, outcome):
            return True
        if not outcome.status_may_wait:
            return outcome.status_changed
        age_seconds = self._clock.monotonic() - record.status_written_at_seconds
        return age_seconds >= self._settings.metric_status_max_age_seconds

    async def _write_status(
        self, record: Record, autoscaler: Autoscaler, outcome: Outcome
    ) -> str | None:
        """Not retried before the next reconcile, as upstream; returns what went wrong."""
        name = autoscaler.metadata.name
        try:
            await self._put_status(record, autoscaler, outcome.status, outcome.memory)
        except (StatusError, Unavailable) as error:
            message = self._worded(error, name)
            self.emit(record, autoscaler, (warning("FailedUpdateStatus", message),))
            return f"failed to update status for {name}: {message}"
        return None

    def _worded(self, error: StatusError | Unavailable, name: str) -> str:
        kind = self._kind
        return worded(error, verb="put", resource=kind.plural, group=kind.group, name=name)

    async def _put_status(
        self, record: Record, autoscaler: Autoscaler, status: AutoscalerStatus, memory: AnyMemory
    ) -> bytes:
        namespace, name = autoscaler.metadata.namespace, autoscaler.metadata.name
        history = history_of(memory, self._settings.extensions)
        body = status_body(autoscaler, status, history, self._kind)
        written = await self._with.kube.replace(
            f"{self._kind.object(namespace, name)}/status", body
        )
        self._memories.was_stored(record, memory)
        record.status_written_at_seconds = self._clock.monotonic()
        record.written_version = written_version(written, autoscaler)
        return written

    def emit(self, record: Record, autoscaler: Autoscaler, events: Sequence[Event]) -> None:
        """Those that are news."""
        for event in events:
            if self._note(record, event):
                self._with.events.emit(autoscaler, event)

    def _note(self, record: Record, event: Event) -> bool:
        """A failure that lasts is an event once, unless kube-controller-manager's events are to be matched."""
        if event.type is EventType.NORMAL or not self._kind.reports_changes_only:
            return True
        return record.reported.note(event, self._clock.monotonic())

    def log(self, record: Record, key: str, error: str) -> None:
        """Once for an error that stays the same."""
        if record.reported.note(error, self._clock.monotonic()):
            log.warning("%s: %s", key, error)

    async def store_intention(
        self, record: Record, autoscaler: Autoscaler, decision: Decision
    ) -> tuple[Autoscaler, str | None]:
        """Before the scale is set to zero, store that the scaler does it: nothing else distinguishes it from a user's zero.

        The autoscaler in its new version, and what went wrong.
        """
        goes_to_zero = decision.rescale and decision.desired_replicas == 0
        if not (self._kind.keeps_history and goes_to_zero and decision.memory.scaled_to_zero):
            return autoscaler, None
        # Also if it is stored already: the write fails if the autoscaler was deleted and created again meanwhile.
        unchanged = autoscaler.status or AutoscalerStatus()
        try:
            body = await self._put_status(record, autoscaler, unchanged, decision.memory)
        except (StatusError, Unavailable) as error:
            name = autoscaler.metadata.name
            return autoscaler, self._worded(error, name)
        metadata = msgspec.structs.replace(
            autoscaler.metadata, resource_version=written_version(body, autoscaler)
        )
        return msgspec.structs.replace(autoscaler, metadata=metadata), None
