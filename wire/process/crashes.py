"""Bugs that end the work on one thing of many. They are logged and counted, and the others go on.

Every expected failure is a value or an error of a server, so whatever else is raised is a bug.
"""

import logging
from collections.abc import Callable

log = logging.getLogger(__name__)


class Crashes:
    """The last crash of each kind of work on each thing: one that stays the same is logged once."""

    def __init__(self, count: Callable[[], object]) -> None:
        """`count` is called for each crash."""
        self._count = count
        # Metrics note crashes in a thread: `forget` reads a copy.
        self._last: dict[tuple[str, str], str] = {}

    def note(self, work: str, key: str, error: Exception) -> None:
        """`work` on the thing of this key, such as an autoscaler, has raised this. Call it where the error is handled."""
        self._count()
        crash = repr(error)
        if self._last.get((work, key)) != crash:
            log.error("the %s of %s crashed", work, key, exc_info=error)
        self._last[work, key] = crash

    def ended(self, work: str, key: str) -> None:
        """`work` has ended without a crash: the next one is news."""
        self._last.pop((work, key), None)

    def forget(self, includes: Callable[[str], bool]) -> None:
        """These things no longer exist, or another process works on them."""
        self._last = {
            each: crash for each, crash in tuple(self._last.items()) if not includes(each[1])
        }
