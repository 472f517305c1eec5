"""Bugs that end the work on one autoscaler. They are logged and counted, and the others go on.

Every expected failure is a value or an error of the API server, so whatever else is raised is a bug.
"""

import logging
from collections.abc import Callable

from scaler.cluster.telemetry import Telemetry

log = logging.getLogger(__name__)


class Crashes:
    """The last crash of each kind of work on each autoscaler: one that stays the same is logged once."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._last: dict[tuple[str, str], str] = {}

    def note(self, work: str, key: str, error: Exception) -> None:
        """`work` on the autoscaler of this key has raised this. Call it where the error is handled."""
        self._telemetry.crashes_total.inc()
        crash = repr(error)
        if self._last.get((work, key)) != crash:
            log.error("the %s of %s crashed", work, key, exc_info=error)
        self._last[work, key] = crash

    def ended(self, work: str, key: str) -> None:
        """`work` has ended without a crash: the next one is news."""
        self._last.pop((work, key), None)

    def forget(self, includes: Callable[[str], bool]) -> None:
        """These autoscalers were deleted, or another process reconciles them."""
        self._last = {each: crash for each, crash in self._last.items() if not includes(each[1])}
