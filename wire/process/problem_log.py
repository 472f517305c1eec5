"""A problem that lasts is logged when it appears, when it changes and when it is over, not at every attempt."""

import logging


class ProblemLog:
    """What is wrong with one thing now, and a log line whenever that changes."""

    def __init__(self, log: logging.Logger, *, failing: str, recovered: str) -> None:
        """`failing` is the warning's text, before the problem; `recovered` is logged when there is none any more."""
        self._log = log
        self._failing = failing
        self._recovered = recovered
        self.problem: str | None = None
        """As a sentence."""

    def set(self, problem: str | None) -> None:
        """Say what is wrong; None if nothing is."""
        if problem == self.problem:
            return
        self.problem = problem
        if problem:
            self._log.warning("%s: %s", self._failing, problem)
        else:
            self._log.info("%s", self._recovered)
