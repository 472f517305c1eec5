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
from adapter.config import ConfigError, ConfigProblem, Configuration, load
from wire.followed_file import FollowedFile

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
        self._file = FollowedFile(path)
        self._content = b""
        self._unusable: Configuration | None = None
        """A good file of which something that it names cannot be used yet."""
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
        changed = content != self._content
        # A file that the configuration names, such as a token, may be what was mended.
        if not changed and not self._unusable:
            return
        self._content = content
        try:
            configuration = await self._read(content) if changed else self._unusable
            if configuration is None or self._file.read() != content:
                return  # It is being written: the next look sees the rest.
            self._unusable = configuration
            await self._apply(configuration)
        except ConfigError as error:
            self._refused(error)
            return
        telemetry.CONFIGURATION_RELOADS.labels("applied").inc()
        self._in_force(configuration)
        log.info(
            "configuration %d is in force: %d rules", self.generation, len(configuration.rules)
        )

    async def _read(self, content: bytes) -> Configuration:
        """In a thread: a long file takes a while, and questions do not wait."""
        self._unusable = None
        if not content.strip():
            problem = ConfigProblem(
                path="(file)",
                line=0,
                problem="it is empty",
                fix="Check whether it was written in full.",
            )
            raise ConfigError(str(self._path), [problem])
        return await asyncio.to_thread(load, self._path)

    def _refused(self, error: ConfigError) -> None:
        """Told once for each reason."""
        if str(error) == self.problem:
            return
        self.problem = str(error)
        telemetry.CONFIGURATION_RELOADS.labels("refused").inc()
        telemetry.CONFIGURATION_ACCEPTED.set(0)
        log.error("the former configuration goes on serving: %s", error)

    def _in_force(self, configuration: Configuration) -> None:
        self.generation += 1
        self.problem = ""
        self._unusable = None
        telemetry.CONFIGURATION_GENERATION.set(self.generation)
        telemetry.CONFIGURATION_ACCEPTED.set(1)
        for warning in configuration.warnings:
            log.warning("%s: %s", self._path, warning)
