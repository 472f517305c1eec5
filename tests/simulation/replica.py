"""One replica of the scaler."""

import random
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from scaler.cluster.clock import Clock
from scaler.runtime.flags import Options
from scaler.runtime.run import parse
from scaler.runtime.scaler import run_scaler
from tests.simulation.journal import Journal
from tests.simulation.network import Connection, Request
from tests.simulation.process import Process
from tests.simulation.scenario import Scenario
from tests.simulation.tampering import Tamper
from tests.simulation.timeline import ProcessLoop, Timeline


class Replica(Process):
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
        super().__init__(name, timeline, journal, serve, rng, clock_drift)
        self._options = options
        self._tamper = tamper

    def _program(self, loop: ProcessLoop) -> Coroutine[Any, Any, Any]:
        clock = Clock(now=self.wall_time, monotonic=loop.time)
        return run_scaler(self._options, "0.0.0-simulated", clock=self._tamper.clock(clock))


def options_for(scenario: Scenario, kubeconfig: Path, extra: Sequence[str] = ()) -> Options:
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
            *extra,
        ]
    )
