"""One replica of the scaler: a machine with its clocks, and the process that runs on it, again and again."""

import asyncio
import logging
import random
import signal
from collections.abc import Callable
from pathlib import Path

from scaler.cluster.clock import Clock
from scaler.runtime.flags import Options
from scaler.runtime.run import parse
from scaler.runtime.scaler import run_scaler
from tests.simulation.journal import Journal
from tests.simulation.network import Connection, Request, Wire
from tests.simulation.scenario import Scenario
from tests.simulation.tampering import Tamper
from tests.simulation.timeline import ProcessLoop, Timeline

RESTART_SECONDS = 1.0


class Replica:
    """A pod of the scaler's Deployment."""

    def __init__(
        self,
        name: str,
        timeline: Timeline,
        journal: Journal,
        serve: Callable[[Request, Connection], None],
        options: Options,
        rng: random.Random,
        tamper: Tamper,
        clock_drift: float,
    ) -> None:
        self.name = name
        self._timeline = timeline
        self._journal = journal
        self._serve = serve
        self._options = options
        self._random = rng
        self._tamper = tamper
        self.wall_offset = rng.uniform(-0.5, 0.5)
        self._clock_drift = clock_drift
        self._wall_rate = 1 + rng.uniform(-clock_drift / 2, clock_drift / 2)
        self.unreachable = ""
        self.loop: ProcessLoop | None = None
        self.wire: Wire | None = None
        self._main: asyncio.Task[int] | None = None
        self._started_at = 0.0
        self._lives = 0

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
        )
        starts_at = self._random.uniform(0, 1e6)
        rate = 1 + self._random.uniform(-self._clock_drift, self._clock_drift)
        self.loop = ProcessLoop(self._timeline, self.wire, starts_at=starts_at, rate=rate)
        self._timeline.loops.append(self.loop)
        self._started_at = self._timeline.now
        self._journal.say(self._timeline.now, f"{self.name} starts")
        clock = Clock(now=self.wall_time, monotonic=self.loop.time)
        program = run_scaler(self._options, "0.0.0-simulated", clock=self._tamper.clock(clock))
        self._main = self.loop.create_task(program)
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

    def _ended(self, task: asyncio.Task[int]) -> None:
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


def options_for(scenario: Scenario, kubeconfig: Path) -> Options:
    """What the command line of every replica says."""
    return parse(
        [
            f"--kubeconfig={kubeconfig}",
            f"--watch={scenario.kind.plural}",
            "--feature-gates=HPAScaleToZero=true",
            f"--sync-period={scenario.period}s",
            f"--concurrent-syncs={scenario.concurrent}",
            f"--downscale-stabilization={scenario.window}s",
            "--sharding" if scenario.is_sharded else "--leader-elect",
            f"--leader-elect-lease-duration={scenario.lease_seconds}s",
            f"--leader-elect-renew-deadline={scenario.renew_seconds}s",
            f"--leader-elect-retry-period={scenario.retry_seconds}s",
            "--leader-elect-resource-namespace=kube-system",
            "--secure-port=0",
        ]
    )
