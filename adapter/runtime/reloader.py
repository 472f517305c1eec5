"""The configuration file, checked on a period: a good new one becomes active, a bad one changes nothing.

Polling and not inotify: a ConfigMap is updated by the swap of a symlink two directories up, and network file systems
send no events. SIGHUP checks at once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from adapter import telemetry
from adapter.config import (
    ConfigError,
    ConfigProblem,
    Configuration,
    ProblemCode,
    decode,
    unreadable,
)
from wire.process.followed_file import FollowedFile
from wire.process.problem_log import ProblemLog

log = logging.getLogger(__name__)


class ConfigurationReloader:
    """Keeps the active configuration in step with the file; `problem` says why it is not."""

    def __init__(
        self,
        path: Path,
        activate: Callable[[Configuration], Awaitable[None]],
        *,
        poll_seconds: float,
    ) -> None:
        """`activate` makes a configuration the active one as a whole, or raises `ConfigError` and changes nothing."""
        self._path = path
        self._activate = activate
        self._poll_seconds = poll_seconds
        self._file = FollowedFile(path)
        self._content = b""
        self._unusable: Configuration | None = None
        """A valid configuration that names a file which cannot be used yet."""
        self._requested = asyncio.Event()
        self._rejection: str | None = None
        self._unreadable = ProblemLog(
            log,
            failing="the last configuration stays active, because the file cannot be read",
            recovered=f"{path} can be read again",
        )
        self.generation = 0

    @property
    def problem(self) -> str | None:
        """Why the file is not the active configuration; None if it is."""
        return self._unreadable.problem or self._rejection

    async def start(self) -> None:
        """Activate the first configuration; raises `ConfigError`."""
        try:
            content = self._file.read()
        except OSError as error:
            raise unreadable(self._path, error) from None
        # The content that is compared later is the one that is decoded: nothing is written in between.
        configuration = decode(content, file=self._path)
        self._content = content
        await self._activate(configuration)
        self._activated(configuration)

    async def run(self) -> None:
        """Check the file until cancelled."""
        while True:
            self._requested.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._requested.wait(), self._poll_seconds)
            await self._check()

    def reload_now(self) -> None:
        """Check the file without waiting for the period (SIGHUP)."""
        self._requested.set()

    async def _check(self) -> None:
        content = self._file.read()
        self._unreadable.set(self._file.problem)
        self._report()
        changed = content != self._content
        # Another file that the configuration names, such as a token, may have been fixed.
        if not changed and not self._unusable:
            return
        try:
            configuration = await self._decoded(content) if changed else self._unusable
            if configuration is None or self._file.read() != content:
                return  # It is being written: the next check reads the rest.
            self._content, self._unusable = content, configuration
            await self._activate(configuration)
        except ConfigError as error:
            self._content = content
            self._rejected(error)
            return
        telemetry.CONFIGURATION_RELOADS.labels("applied").inc()
        self._activated(configuration)
        log.info("configuration %d is active: %d rules", self.generation, len(configuration.rules))

    async def _decoded(self, content: bytes) -> Configuration:
        """In a thread: a long file takes a while, and requests must not wait."""
        self._unusable = None
        if not content.strip():
            problem = ConfigProblem(
                code=ProblemCode.EMPTY,
                path="(file)",
                line=0,
                problem="it is empty",
                fix="Check whether it was written completely.",
            )
            raise ConfigError(str(self._path), [problem])
        return await asyncio.to_thread(decode, content, file=self._path)

    def _report(self) -> None:
        telemetry.CONFIGURATION_ACCEPTED.set(self.problem is None)

    def _rejected(self, error: ConfigError) -> None:
        """Logged once for each reason."""
        if str(error) == self._rejection:
            return
        self._rejection = str(error)
        telemetry.CONFIGURATION_RELOADS.labels("refused").inc()
        self._report()
        log.error("the previous configuration stays active: %s", error)

    def _activated(self, configuration: Configuration) -> None:
        self.generation += 1
        self._rejection = self._unusable = None
        telemetry.CONFIGURATION_GENERATION.set(self.generation)
        self._report()
        for warning in configuration.warnings:
            log.warning("%s: %s", self._path, warning)
