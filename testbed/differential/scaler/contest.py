"""Both programs at work on scripted worlds: clusters, aggregated APIs and the two sides, started and stopped."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from testbed import ports, register
from testbed.cluster import Cluster
from testbed.differential.scaler.server import CUSTOM, EXTERNAL, RESOURCE, SCRIPTED_GROUP, Worlds
from testbed.differential.scaler.side import HPA, LOAD_AUTOSCALER, EventLog, Kind, Side
from testbed.options import HPA_CONTROLLERS, ClusterOptions, HPAOptions
from testbed.programs import start_program
from wire.kube.client import KubeClient
from wire.kube.connection import connect

CRD = Path(__file__).parents[3] / "charts" / "scaler" / "crds" / "loadautoscalers.yaml"
# Long enough for a look and the pause before it on a busy machine; short windows and periods end in it.
SYNC_PERIOD_SECONDS = 5.0
# The HPA controller looks a period after the last look; ours keeps to a beat.
THEIRS_APART_SECONDS = SYNC_PERIOD_SECONDS * 0.3
OURS_APART_SECONDS = SYNC_PERIOD_SECONDS * 0.1
PREPARING_AT_ONCE = 5
# Every look that waits at a gate occupies a worker.
CONCURRENT_SYNCS = 300


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """How both programs are configured, and which kind ours scales."""

    # The HPA controller on both sides shows how far this harness can be trusted.
    against_itself: bool = False
    # Ours scales HPAs too, in a cluster without the HPA controller.
    replaces_controller: bool = False
    scale_to_zero: bool = False
    downscale_stabilization_seconds: float = 300.0
    custom_version: str = "v1beta2"


class Contest(msgspec.Struct, frozen=True, kw_only=True):
    """What `run_all` needs."""

    worlds: Worlds
    sides: tuple[Side, Side]


@asynccontextmanager
async def contest(variant: Variant, directory: Path) -> AsyncIterator[Contest]:
    """Start everything `variant` says; the logs lie under `directory`."""
    async with AsyncExitStack() as stack:
        worlds, port = Worlds(), ports.reserve()
        stack.callback(ports.release, port)
        theirs = stack.enter_context(Cluster(_options(variant), directory=directory / "theirs"))
        await _serve(worlds, theirs, port, stack)
        ours = theirs
        if variant.replaces_controller:
            without = msgspec.structs.replace(_options(variant), controllers=())
            ours = stack.enter_context(Cluster(without, directory=directory / "ours"))
        for cluster in dict.fromkeys((theirs, ours)):
            await asyncio.to_thread(_register, cluster, port, variant)
        kind = HPA if variant.replaces_controller or variant.against_itself else LOAD_AUTOSCALER
        if not variant.against_itself:
            flags = _flags(variant, ours, kind.plural)
            started = await asyncio.to_thread(
                start_program, "scaler", *flags, log_directory=directory / "logs"
            )
            stack.callback(started.stop)
        sides = (
            await _side("theirs", HPA, theirs, stack, THEIRS_APART_SECONDS),
            await _side("ours", kind, ours, stack, OURS_APART_SECONDS),
        )
        yield Contest(worlds=worlds, sides=sides)
        # Nothing may wait at a gate when the programs are asked to end.
        for world in worlds.of.values():
            for gate in world.gates():
                gate.open()


def _options(variant: Variant) -> ClusterOptions:
    """Only the API server lets HPAs have minReplicas 0 in every variant; what the controller does with it varies."""
    gate = f"--feature-gates=HPAScaleToZero={str(variant.scale_to_zero).lower()}"
    return ClusterOptions(
        controllers=HPA_CONTROLLERS,
        hpa=HPAOptions(
            sync_period_seconds=SYNC_PERIOD_SECONDS,
            downscale_stabilization_seconds=variant.downscale_stabilization_seconds,
            concurrent_syncs=CONCURRENT_SYNCS,
        ),
        scheduler=False,
        kwok=False,
        # A look that waits at its gate would occupy one of the few seats of priority and fairness.
        apiserver_flags=(
            "--feature-gates=HPAScaleToZero=true",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=3000",
        ),
        controller_manager_flags=(gate,),
    )


def _flags(variant: Variant, cluster: Cluster, plural: str) -> tuple[str, ...]:
    return (
        f"--kubeconfig={cluster.kubeconfig}",
        f"--watch={plural}",
        f"--sync-period={SYNC_PERIOD_SECONDS}s",
        f"--concurrent-syncs={CONCURRENT_SYNCS}",
        f"--downscale-stabilization={variant.downscale_stabilization_seconds}s",
        f"--feature-gates=HPAScaleToZero={str(variant.scale_to_zero).lower()}",
    )


async def _serve(worlds: Worlds, cluster: Cluster, port: int, stack: AsyncExitStack) -> None:
    certificate, key = cluster.serving_certificate("scripted")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    runner = web.AppRunner(worlds.app, handler_cancellation=True, shutdown_timeout=1.0)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", port, ssl_context=context, backlog=1024).start()


def _register(cluster: Cluster, port: int, variant: Variant) -> None:
    cluster.apply(CRD.read_text())
    groups = (
        (SCRIPTED_GROUP, "v1"),
        (CUSTOM, variant.custom_version),
        (EXTERNAL, "v1beta1"),
        (RESOURCE, "v1beta1"),
    )
    names = [
        register.register_external_apiservice(cluster, group, version, port)
        for group, version in groups
    ]
    for name in names:
        register.wait_until_available(cluster, name)


async def _side(
    label: str, kind: Kind, cluster: Cluster, stack: AsyncExitStack, apart_min_seconds: float
) -> Side:
    kube = KubeClient(await connect(cluster.kubeconfig, user_agent=f"differential-{label}"))
    stack.push_async_callback(kube.close)
    events = EventLog(kube)
    following = asyncio.create_task(events.follow())
    stack.callback(following.cancel)
    return Side(
        label=label,
        kube=kube,
        kind=kind,
        events=events,
        preparing=asyncio.Semaphore(PREPARING_AT_ONCE),
        apart_min_seconds=apart_min_seconds,
    )
