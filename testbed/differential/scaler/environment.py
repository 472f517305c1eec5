"""The environment of a comparison: clusters, the scripted API and both programs, started and stopped."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import msgspec
from aiohttp import web

from scaler.api.upstream import NEWEST, Upstream, minor_of, upstream_of
from testbed import apiservices, assets, ports
from testbed.cluster import Cluster
from testbed.cluster_options import HPA_CONTROLLERS, ClusterOptions, HPAOptions
from testbed.differential.scaler.scripted_api import (
    CUSTOM,
    EXTERNAL,
    RESOURCE,
    SCRIPTED_GROUP,
    ScriptedAPI,
)
from testbed.differential.scaler.side import HPA, LOAD_AUTOSCALER, EventLog, Kind, Side
from testbed.programs import CRD, start_program
from wire.kube.client import KubeClient
from wire.kube.connection import connect

# Long enough for a reconcile on a busy machine; short windows and periods end within it.
SYNC_PERIOD_SECONDS = 5.0
# The HPA controller waits for a period after each reconcile; Loadline keeps a fixed schedule. One that reconciles new
# and changed autoscalers at once waits for its own writes instead.
UPSTREAM_MIN_INTERVAL_SECONDS = SYNC_PERIOD_SECONDS * 0.3
LOADLINE_MIN_INTERVAL_SECONDS = SYNC_PERIOD_SECONDS * 0.1
CONCURRENT_PREPARATIONS = 5
# Every reconcile that waits at a gate occupies a worker.
CONCURRENT_SYNCS = 300

COMPARED_VERSIONS = tuple(
    version
    for version in assets.KUBERNETES_VERSIONS
    if upstream_of(minor_of(version)).minor == minor_of(version)
)
"""The minor versions that the scaler knows, newest first; for older ones it behaves as the oldest of these."""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration of both programs, and the kind that Loadline scales."""

    # The minor version of the clusters, one of assets.KUBERNETES_VERSIONS.
    kubernetes: str = msgspec.field(default_factory=assets.chosen_kubernetes)
    # The HPA controller on both sides: shows what the harness itself makes differ.
    against_itself: bool = False
    # Loadline scales HPAs as well, in a cluster without the HPA controller.
    replaces_controller: bool = False
    # The feature gate HPAScaleToZero; None: as this version has it by default.
    scale_to_zero: bool | None = None
    downscale_stabilization_seconds: float = 300.0
    custom_version: str = "v1beta2"

    @property
    def upstream(self) -> Upstream:
        """The HPA controller that runs beside Loadline."""
        return upstream_of(minor_of(self.kubernetes))

    @property
    def scales_to_zero(self) -> bool:
        """Whether minReplicas 0 has its meaning. The controller of 1.35 has no feature gate for it."""
        by_default = self.upstream.scales_to_zero or not self.upstream.marks_zero
        return by_default if self.scale_to_zero is None else self.scale_to_zero


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """What `run_all` needs of a running environment."""

    api: ScriptedAPI
    sides: tuple[Side, Side]


@asynccontextmanager
async def environment(variant: Variant, directory: Path) -> AsyncIterator[Environment]:
    """Start everything for `variant`; logs are written under `directory`."""
    async with AsyncExitStack() as stack:
        api, port = ScriptedAPI(), ports.reserve()
        stack.callback(ports.release, port)
        upstream = stack.enter_context(Cluster(_options(variant), directory=directory / "upstream"))
        await _serve(api, upstream, port, stack)
        loadline = upstream
        if variant.replaces_controller:
            without = msgspec.structs.replace(_options(variant), controllers=())
            loadline = stack.enter_context(Cluster(without, directory=directory / "loadline"))
        for cluster in dict.fromkeys((upstream, loadline)):
            await asyncio.to_thread(_register, cluster, port, variant)
        kind = HPA if variant.replaces_controller or variant.against_itself else LOAD_AUTOSCALER
        if not variant.against_itself:
            flags = _flags(variant, loadline, kind)
            started = await asyncio.to_thread(
                start_program, "scaler", *flags, log_directory=directory / "logs"
            )
            stack.callback(started.stop)
        sides = (
            await _side("upstream", HPA, upstream, stack, variant),
            await _side("loadline", kind, loadline, stack, variant),
        )
        yield Environment(api=api, sides=sides)
        # No reconcile may wait at a gate when the programs are stopped.
        for script in api.scripts.values():
            for gate in script.gates():
                gate.open()


def _options(variant: Variant) -> ClusterOptions:
    """The API server accepts minReplicas 0 in every variant; only the controller's gate varies."""
    return ClusterOptions(
        kubernetes_suffix=assets.suffix_of(variant.kubernetes),
        controllers=HPA_CONTROLLERS,
        hpa=HPAOptions(
            sync_period_seconds=SYNC_PERIOD_SECONDS,
            downscale_stabilization_seconds=variant.downscale_stabilization_seconds,
            concurrent_syncs=CONCURRENT_SYNCS,
        ),
        scheduler=False,
        kwok=False,
        # A reconcile that waits at its gate would occupy one of the few seats of API priority and fairness.
        apiserver_flags=(
            "--feature-gates=HPAScaleToZero=true",
            "--enable-priority-and-fairness=false",
            "--max-requests-inflight=3000",
        ),
        controller_manager_flags=_zero_gate(variant, HPA),
    )


def _zero_gate(variant: Variant, kind: Kind) -> tuple[str, ...]:
    """The flag of either program. Only a LoadAutoscaler needs it where the version decides: it is as in the newest."""
    if variant.scale_to_zero is None and (kind is HPA or variant.upstream is NEWEST):
        return ()
    return (f"--feature-gates=HPAScaleToZero={str(variant.scales_to_zero).lower()}",)


def _flags(variant: Variant, cluster: Cluster, kind: Kind) -> tuple[str, ...]:
    return (
        f"--kubeconfig={cluster.kubeconfig}",
        f"--watch={kind.plural}",
        f"--sync-period={SYNC_PERIOD_SECONDS}s",
        f"--concurrent-syncs={CONCURRENT_SYNCS}",
        f"--downscale-stabilization={variant.downscale_stabilization_seconds}s",
        "--metric-status-max-age=0s",
        *_zero_gate(variant, kind),
    )


async def _serve(api: ScriptedAPI, cluster: Cluster, port: int, stack: AsyncExitStack) -> None:
    certificate, key = cluster.serving_certificate("scripted")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    runner = web.AppRunner(api.app, handler_cancellation=True, shutdown_timeout=1.0)
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
    names = [apiservices.register(cluster, group, version, port) for group, version in groups]
    for name in names:
        apiservices.wait_until_available(cluster, name)


async def _side(
    label: str, kind: Kind, cluster: Cluster, stack: AsyncExitStack, variant: Variant
) -> Side:
    kube = KubeClient(await connect(cluster.kubeconfig, user_agent=f"differential-{label}"))
    stack.push_async_callback(kube.close)
    events = EventLog(kube)
    # If events cannot be followed any more, the comparison ends with the cause.
    group = await stack.enter_async_context(asyncio.TaskGroup())
    stack.callback(group.create_task(events.follow()).cancel)
    upstream = variant.upstream
    behavior = upstream if kind is HPA else NEWEST
    return Side(
        label=label,
        kube=kube,
        kind=kind,
        events=events,
        preparing=asyncio.Semaphore(CONCURRENT_PREPARATIONS),
        upstream=upstream,
        reconciles_at_once=behavior.reconciles_new_at_once,
        rereads_after_each_error=label == "upstream" or variant.against_itself,
        interval_min_seconds=_interval_min_seconds(label, behavior),
    )


def _interval_min_seconds(label: str, behavior: Upstream) -> float:
    if behavior.skips_outdated_reads:
        return 0.0
    return UPSTREAM_MIN_INTERVAL_SECONDS if label == "upstream" else LOADLINE_MIN_INTERVAL_SECONDS
