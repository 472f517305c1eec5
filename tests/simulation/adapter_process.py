"""The adapter as a process of the world: the whole program with its clocks, and without TLS."""

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

from adapter.commands.server_flags import parse
from adapter.config import ConfigError
from adapter.runtime.metrics_server import run_server
from tests.simulation import adapter_rules
from tests.simulation.journal import Journal
from tests.simulation.network import Connection, Request
from tests.simulation.process import Process
from tests.simulation.prometheus_model import PORT
from tests.simulation.sockets import SocketEnd
from tests.simulation.timeline import Listening, ProcessLoop, Timeline

NAME = "adapter"


class AdapterProcess(Process):
    """The only pod of the adapter's Deployment."""

    def __init__(
        self,
        timeline: Timeline,
        journal: Journal,
        serve: Callable[[Request, Connection], None],
        rng: random.Random,
        clock_drift: float,
        kubeconfig: Path,
        flags: tuple[str, ...],
    ) -> None:
        """`flags`: besides those that say where everything is."""
        super().__init__(NAME, timeline, journal, serve, rng, clock_drift)
        self._directory = tempfile.TemporaryDirectory(prefix="simulation-adapter-")
        self.directory = Path(self._directory.name)
        self._config = self.directory / "config.yaml"
        self.rules = ""
        self._flags = (
            f"--config={self._config}",
            f"--prometheus-url=http://127.0.0.1:{PORT}",
            f"--lister-kubeconfig={kubeconfig}",
            "--secure-port=6443",
            *flags,
        )

    def configure(self, rules: str) -> None:
        """The configuration file is one of `adapter_rules.BY_NAME` from now on."""
        self.rules = rules
        changed = self._config.with_suffix(".new")
        changed.write_text(adapter_rules.BY_NAME[rules])
        changed.replace(self._config)

    @property
    def listening(self) -> Listening | None:
        """Where it accepts connections now, if it does."""
        return self.loop.listening if self.loop is not None else None

    def accepted(self, end: SocketEnd) -> None:
        """The process has this end of a connection, until it is dead."""
        if self.wire is not None:
            self.wire.connections.append(end)

    def remove_files(self) -> None:
        """The simulation is over."""
        self._directory.cleanup()

    async def _program(self, loop: ProcessLoop) -> None:
        try:
            await run_server(parse(self._flags), version="0.0.0-simulated")
        except ConfigError:
            # The command prints it and ends, until the file is valid.
            if self.rules != adapter_rules.INVALID:
                raise
