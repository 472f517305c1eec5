"""The configuration file, looked at again and again: a good new one comes into force, a bad one changes nothing.

Polling and not inotify: a ConfigMap changes by the swap of a symlink two directories up, and a network file system
tells nobody. SIGHUP looks at once.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from adapter import telemetry
from adapter.config import ConfigError, Configuration, load
from adapter.fetch.freshfile import FreshFile

log = logging.getLogger(__name__)


class ConfigurationWatch:
    """Keeps what is in force in step with the file; `problem` says why it is not."""

    def __init__(
        self,
        path: Path,
        apply: Callable[[Configuration], Awaitable[None]],
        *,
        poll_seconds: float,
    ) -> None:
        """`apply` brings a configuration into force as a whole, or raises `ConfigError` and changes nothing."""
        self._path = path
        self._apply = apply
        self._poll_seconds = poll_seconds
        self._file = FreshFile(path)
        self._content = b""
        self._at_once = asyncio.Event()
        self.generation = 0
        self.problem = ""

    async def start(self) -> None:
        """The first configuration; raises `ConfigError`."""
        configuration = load(self._path)
        self._content = self._file.read()
        await self._apply(configuration)
        self._in_force(configuration)

    async def run(self) -> None:
        """Watch for ever; ends only by cancellation."""
        while True:
            self._at_once.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._at_once.wait(), self._poll_seconds)
            await self._look()

    def look_at_once(self) -> None:
        """For SIGHUP."""
        self._at_once.set()

    async def _look(self) -> None:
        content = self._file.read()
        if content == self._content:
            return
        self._content = content
        try:
            configuration = load(self._path)
            await self._apply(configuration)
        except ConfigError as error:
            self.problem = str(error)
            telemetry.CONFIGURATION_RELOADS.labels("refused").inc()
            telemetry.CONFIGURATION_ACCEPTED.set(0)
            log.error("the former configuration goes on serving: %s", error)
            return
        telemetry.CONFIGURATION_RELOADS.labels("applied").inc()
        self._in_force(configuration)
        log.info(
            "configuration %d is in force: %d rules", self.generation, len(configuration.rules)
        )

    def _in_force(self, configuration: Configuration) -> None:
        self.generation += 1
        self.problem = ""
        telemetry.CONFIGURATION_GENERATION.set(self.generation)
        telemetry.CONFIGURATION_ACCEPTED.set(1)
        for warning in configuration.warnings:
            log.warning("%s: %s", self._path, warning)
