"""A process of the world: a machine with its clocks, and the program that runs on it, again and again."""

import asyncio
import logging
import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import Any

from tests.simulation.journal import Journal
from tests.simulation.network import Connection, Request, Tunnel, Wire
from tests.simulation.timeline import ProcessLoop, Timeline

RESTART_SECONDS = 1.0


class Process(ABC):
    """A pod of a Deployment."""

    def __init__(
        self,
        name: str,
        timeline: Timeline,
        journal: Journal,
        serve: Callable[[Request, Connection], None],
        rng: random.Random,
        clock_drift: float,
    ) -> None:
        self.name = name
        self._timeline = timeline
        self._journal = journal
        self._serve = serve
        self._random = rng
        self.wall_offset = rng.uniform(-0.5, 0.5)
        self._clock_drift = clock_drift
        self._wall_rate = 1 + rng.uniform(-clock_drift / 2, clock_drift / 2)
        self.unreachable = ""
        self.tunnels: dict[int, Tunnel] = {}
        self.loop: ProcessLoop | None = None
        self.wire: Wire | None = None
        self._main: asyncio.Task[Any] | None = None
        self._started_at = 0.0
        self._lives = 0

    @abstractmethod
    def _program(self, loop: ProcessLoop) -> Coroutine[Any, Any, Any]:
        """What runs in a life of the process."""

    def start(self) -> None:
        """Begin a new life, if none is under way."""
        if self.loop is not None:
            return
        self._lives += 1
        self.wire = Wire(
            self._timeline,
            f"{self.name}.{self._lives}",
            self._serve,
            refuses=lambda _: self.unreachable,
            tunnels=self.tunnels,
        )
        starts_at = self._random.uniform(0, 1e6)
        rate = 1 + self._random.uniform(-self._clock_drift, self._clock_drift)
        self.loop = ProcessLoop(self._timeline, self.wire, starts_at=starts_at, rate=rate)
        self.loop.wall_time = self.wall_time
        self._timeline.loops.append(self.loop)
        self._started_at = self._timeline.now
        self._journal.say(self._timeline.now, f"{self.name} starts")
        self._main = self.loop.create_task(self._program(self.loop))
        self._main.add_done_callback(self._ended)

    def wall_time(self) -> float:
        """Unix seconds, as this machine has them."""
        epoch = self._timeline.epoch_unix_seconds
        return epoch + self._timeline.now * self._wall_rate + self.wall_offset

    def kill(self, down_seconds: float) -> None:
        """SIGKILL: nothing more reaches the world. Kubernetes starts it again after a while."""
        if self.loop is None or self.wire is None:
            return
        self._journal.say(self._timeline.now, f"{self.name} is killed")
        self._bury()
        self._timeline.after(down_seconds, self.start)

    def terminate(self) -> None:
        """SIGTERM: it may end in its own way."""
        if self.loop is not None and signal.SIGTERM in self.loop.signal_handlers:
            self._journal.say(self._timeline.now, f"{self.name} gets SIGTERM")
            self.loop.call_soon(self.loop.signal_handlers[signal.SIGTERM])

    def pause(self, seconds: float) -> None:
        """The machine stands still: nothing runs, the clocks go on."""
        loop = self.loop
        if loop is not None:
            self._journal.say(self._timeline.now, f"{self.name} stands still")
            loop.paused = True
            self._timeline.after(seconds, setattr, loop, "paused", False)

    @property
    def tasks(self) -> int:
        """How many tasks the process has."""
        return 0 if self.loop is None else len(asyncio.all_tasks(self.loop))

    def _ended(self, task: asyncio.Task[Any]) -> None:
        if self.loop is None:
            return
        outcome = "cancelled" if task.cancelled() else repr(task.exception() or task.result())
        self._journal.say(self._timeline.now, f"{self.name} ends: {outcome}")
        if not task.cancelled() and task.exception() is not None:
            self._journal.crashes.append(f"{self.name} ends with {task.exception()!r}")
        self._timeline.after(0, self._after_its_end)

    def _after_its_end(self) -> None:
        self._bury()
        self._timeline.after(RESTART_SECONDS, self.start)

    def _bury(self) -> None:
        """Let every task of the dead process end, cut off from the world."""
        loop, wire, self.loop, self.wire = self.loop, self.wire, None, None
        if loop is None or wire is None:
            return
        self._journal.lives.append((wire.process, self._started_at, self._timeline.now))
        self._timeline.loops.remove(loop)
        wire.sever_all()
        logging.disable()
        try:
            loop.wind_up()
        finally:
            logging.disable(logging.NOTSET)

    def stop_for_good(self) -> None:
        """The simulation is over."""
        self._bury()
