"""Many episodes against one adapter process after another."""

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

import msgspec

from testbed.certificates import Authority
from testbed.fault_injection import prometheus_model
from testbed.fault_injection.episodes import (
    CONFIGURATION,
    FLAGS,
    Episode,
    Responses,
    World,
    client_session,
)
from testbed.fault_injection.faulty_server import FaultyServer
from testbed.fault_injection.kubernetes_model import KubernetesModel
from testbed.fault_injection.prometheus_model import PrometheusModel
from testbed.fault_injection.truth import NAMESPACES, PODS, Violation
from testbed.programs import start_program

EPISODES_PER_PROCESS = 50
# Six answers of 30,000 rows at the same time take about 120 MiB for a moment.
GROWTH_BYTES_MAX = 96 * 1024 * 1024


class Result(msgspec.Struct, kw_only=True):
    """What a campaign found."""

    episodes: int = 0
    seconds: float = 0.0
    peak_bytes: int = 0
    responses: Responses = msgspec.field(default_factory=Responses)
    violations: list[str] = []


def campaign(seeds: Iterable[int], directory: Path) -> Result:
    """Run every seed; a violation is recorded with its trace, and a new process goes on with the next seed."""
    result = Result()
    started = time.monotonic()
    remaining = list(seeds)
    while remaining:
        batch, remaining = remaining[:EPISODES_PER_PROCESS], remaining[EPISODES_PER_PROCESS:]
        done = asyncio.run(_batch(batch, directory, result))
        remaining = batch[done:] + remaining
    result.seconds = time.monotonic() - started
    return result


async def _batch(seeds: list[int], directory: Path, result: Result) -> int:
    """How many seeds are done; fewer than all after a violation."""
    async with world(directory, seeds[0]) as running, client_session() as session:
        before = _resident_bytes(running)
        for index, seed in enumerate(seeds):
            episode = Episode(running, session, seed)
            result.episodes += 1
            try:
                await episode.run()
                grown = _resident_bytes(running) - before
                result.peak_bytes = max(result.peak_bytes, grown + before)
                if grown > GROWTH_BYTES_MAX:
                    raise Violation(f"memory grew by {grown >> 20} MiB")
            except Violation as violation:
                trace = "; ".join(episode.trace)
                result.violations.append(f"seed {seed}: {violation}\n  after: {trace}")
                return index + 1
            finally:
                result.responses.add(episode.responses)
    return len(seeds)


@contextlib.asynccontextmanager
async def world(directory: Path, seed: int) -> AsyncIterator[World]:
    """A fresh adapter over fresh models."""
    pods = {(f"ns-{space}", f"p-{pod}") for space in range(NAMESPACES) for pod in range(PODS)}
    client_ca = Authority("fault-injection").certificate.decode()
    prometheus, kubernetes = PrometheusModel(), KubernetesModel(pods, client_ca=client_ca)
    prometheus.series = prometheus_model.objects(seed, NAMESPACES, PODS)
    config = directory / f"config-{seed}.yaml"
    config.write_text(CONFIGURATION)
    async with (
        FaultyServer(prometheus.respond, seed) as prometheus_server,
        FaultyServer(kubernetes.respond, seed) as kubernetes_server,
    ):
        kubeconfig = directory / f"kubeconfig-{seed}.json"
        kubeconfig.write_text(_kubeconfig(kubernetes_server.url))
        adapter = await asyncio.to_thread(
            start_program,
            "adapter",
            f"--config={config}",
            f"--lister-kubeconfig={kubeconfig}",
            f"--prometheus-url={prometheus_server.url}",
            f"--cert-dir={directory / 'certificates'}",
            *FLAGS,
            log_directory=directory / "logs",
        )
        try:
            yield World(
                prometheus, kubernetes, prometheus_server, kubernetes_server, adapter, config
            )
        finally:
            await asyncio.to_thread(adapter.stop)


def _kubeconfig(server: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "model", "cluster": {"server": server}}],
            "users": [{"name": "adapter", "user": {"token": "adapter"}}],
            "contexts": [{"name": "model", "context": {"cluster": "model", "user": "adapter"}}],
            "current-context": "model",
        }
    )


def _resident_bytes(world: World) -> int:
    pages = Path(f"/proc/{world.adapter.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def report(result: Result) -> None:
    """On standard error, for a person."""
    sys.stderr.write(
        f"\n{result.episodes} episodes in {result.seconds:.0f} s, "
        f"peak {result.peak_bytes >> 20} MiB, {len(result.violations)} violations, "
        f"values in {result.responses.with_values} of {result.responses.total} responses\n"
    )
