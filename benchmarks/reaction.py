"""From the scrape in which the value of a metric doubles to the scale that is written, with and without streamed metrics.

500 LoadAutoscalers with a period of 15 s are on one metric, each with a selector of its own. The exporter notes when Prometheus
scrapes the doubled values for the first time, and a watch of the targets when each of them has its replicas. A turn counts
only if every target reaches the replicas for its doubled metric.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import aclosing

import msgspec

from benchmarks.instruments import proc, scrape
from benchmarks.instruments.adapter_environment import (
    SERIES,
    AdapterEnvironment,
    adapter_environment,
)
from benchmarks.instruments.bench_targets import LOAD_AUTOSCALER, NAMESPACE, TARGET
from benchmarks.instruments.figures import Figures, Result, Round, percentile
from benchmarks.instruments.metric_kinds import depth, replicas
from benchmarks.measurement_options import Options, Report
from testbed.waiting import elapse, until
from wire.kube.client import KubeClient
from wire.kube.connection import connect

AUTOSCALERS, PERIOD_SECONDS, SCRAPE_SECONDS = 500, 15.0, 5.0
# By default a scale-up is limited to twice the replicas of 15 s ago: the one before must be over.
SETTLED_SECONDS = 20.0
STEADY_SECONDS = 15.0
DEADLINE_SECONDS = 60.0
AUTOSCALERS_PER_SECOND_MIN = 50
THROUGH_KUBE_APISERVER, DIRECT, STREAMED = (
    "through kube-apiserver",
    "directly from the adapter",
    "streamed, reconciled on change",
)


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded if a target does not reach its replicas."""
    count = options.autoscalers or AUTOSCALERS
    rounds = []
    with adapter_environment(count, SCRAPE_SECONDS) as environment:
        report(f"logs: {environment.bench.directory}; {count} autoscalers")
        environment.bench.apply_crds()
        found = Measurement(environment)
        for number in range(options.rounds):
            for program in options.programs or (THROUGH_KUBE_APISERVER, STREAMED, DIRECT):
                figures = found.turn(program)
                shown = ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
                report(f"round {number + 1}, {program}: {shown}")
                rounds.append(
                    Round(case="doubled", program=program, number=number, figures=figures)
                )
    return Result(
        benchmark="reaction",
        setting={
            "autoscalers": count,
            "period s": PERIOD_SECONDS,
            "scrape interval s": SCRAPE_SECONDS,
        },
        reference=THROUGH_KUBE_APISERVER,
        rounds=tuple(rounds),
    )


class Measurement:
    """Turns of the scaler."""

    def __init__(self, environment: AdapterEnvironment) -> None:
        self._environment = environment
        self.bench, self.adapter = environment.bench, environment.adapter
        self.load, self.count = environment.load, environment.count
        self._deadline_seconds = DEADLINE_SECONDS + self.count / AUTOSCALERS_PER_SECOND_MIN

    def turn(self, program: str) -> Figures:
        """Start the scaler, let it scale to the values of the start, measure, double, and wait for the replicas."""
        self.load.reset()
        # Otherwise a target is scaled to the last values, and stays there for the stabilization window.
        start = sum(depth(number) for number in range(self.count))
        self._environment.prometheus.wait_for(f"sum({SERIES}) == {start}")
        self.bench.targets.reset()
        # New ones, because what the last turn has recommended would hold the replicas for the stabilization window.
        self.bench.targets.replace_autoscalers(LOAD_AUTOSCALER)
        flags = {
            THROUGH_KUBE_APISERVER: (),
            DIRECT: (*self._environment.scaler_flags, "--stream-metrics=never"),
            STREAMED: (
                *self._environment.scaler_flags,
                "--stream-metrics",
                "--reconcile-on-change",
            ),
        }[program]
        period = f"--sync-period={PERIOD_SECONDS:g}s"
        with self.bench.start_scaler(period, *flags) as scaler:
            until(
                self.bench.targets.have_expected_replicas,
                what="every target to have its replicas",
                deadline_seconds=self._deadline_seconds,
            )
            elapse(SETTLED_SECONDS)
            steady = self._steady(scaler.process.pid, scaler.port)
            reactions = asyncio.run(self._reactions())
        return {
            "reaction_min_seconds": reactions[0],
            "reaction_p50_seconds": percentile(reactions, 50),
            "reaction_p99_seconds": percentile(reactions, 99),
            "reaction_max_seconds": reactions[-1],
            **steady,
        }

    def _steady(self, pid: int, port: int) -> Figures:
        """The cost while no metric changes, per reconcile."""
        api = self.bench.cluster.components["kube-apiserver"].pid
        pids = {"own": pid, "apiserver": api, "adapter": self.adapter.process.process.pid}
        metric = "loadline_scaler_reconciliations_total"
        tls = self.bench.targets.tls
        before = {name: proc.cpu_seconds(each) for name, each in pids.items()}
        syncs, queries = scrape.total(port, metric, tls=tls), self._environment.queries()
        elapse(STEADY_SECONDS)
        done = scrape.total(port, metric, tls=tls) - syncs
        return {
            **{
                f"{name}_cpu_ms_per_sync": 1000 * (proc.cpu_seconds(each) - before[name]) / done
                for name, each in pids.items()
            },
            "queries_per_second": (self._environment.queries() - queries) / STEADY_SECONDS,
        }

    async def _reactions(self) -> list[float]:
        """Double the load; the sorted seconds from its scrape until each target has its replicas."""
        connection = await connect(self.bench.cluster.kubeconfig, user_agent="benchmarks")
        client = KubeClient(connection)
        reached: dict[int, float] = {}
        try:
            listed = msgspec.json.decode(await client.get(TARGET.path(NAMESPACE)), type=_Listed)
            version = listed.metadata.resource_version
            params = {"resourceVersion": version}
            watching = asyncio.create_task(self._watched(client, params, reached))
            self.load.double()
            async with asyncio.timeout(self._deadline_seconds):
                await watching
        finally:
            await client.close()
        scraped_at = self.load.scraped_at
        assert scraped_at is not None, "Prometheus has not scraped the exporter"
        return sorted(at - scraped_at for at in reached.values())

    async def _watched(
        self, client: KubeClient, params: Mapping[str, str], reached: dict[int, float]
    ) -> None:
        async with aclosing(client.watch(TARGET.path(NAMESPACE), params)) as events:
            async for line in events:
                found = msgspec.json.decode(line, type=_Event).object
                number = int(found.metadata.name.removeprefix("web-"))
                assert found.spec.replicas == 2 * replicas(number), (
                    f"web-{number} is scaled wrongly"
                )
                reached.setdefault(number, time.monotonic())
                if len(reached) == self.count:
                    return


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True):
    replicas: int = 0


class _Target(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


class _Listed(msgspec.Struct, frozen=True):
    metadata: _Metadata


class _Event(msgspec.Struct, frozen=True):
    object: _Target
