"""The two ways in which `explain` gets an explanation: from the running adapter, or from the same parts on this machine."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

from adapter.config import load
from adapter.diagnosis.explanation import Explanation
from adapter.runtime.assembly import assemble
from adapter.runtime.server_settings import PrometheusSettings
from wire.api.debug_paths import EXPLAIN
from wire.kube.chosen_context import ChosenContext
from wire.kube.client import KubeClient
from wire.kube.server_connection import connect_to

Explain = Callable[[str], Awaitable[Explanation]]

LISTING_SECONDS: Final = 30.0
"""How long listing the series of all rules may take; a rule that is not listed by then is reported as a gap."""


@contextlib.asynccontextmanager
async def running_explainer(
    server: str,
    *,
    ca_file: Path | None,
    server_name: str | None,
    insecure_skip_tls_verify: bool,
    kubeconfig: Path | None,
    context: ChosenContext,
    user_agent: str,
) -> AsyncIterator[Explain]:
    """The adapter explains itself, so that its users need no access to Prometheus."""
    connection = await connect_to(
        server,
        ca_file=ca_file,
        server_hostname=server_name,
        insecure_skip_tls_verify=insecure_skip_tls_verify,
        kubeconfig=kubeconfig,
        context=context,
        user_agent=user_agent,
    )
    client = KubeClient(connection)

    async def explain(path: str) -> Explanation:
        return msgspec.json.decode(await client.get(EXPLAIN, {"path": path}), type=Explanation)

    try:
        yield explain
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def local_explainer(
    config: Path, prometheus: PrometheusSettings, client: KubeClient, *, user_agent: str
) -> AsyncIterator[Explain]:
    """What a server with this configuration would answer from here. Raises `ConfigError` and what `assemble` raises."""
    async with assemble(config, prometheus, client, user_agent=user_agent) as parts:
        await parts.mapper.refresh()
        await parts.activator.activate(load(config))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(parts.activator.catalog.tried(), LISTING_SECONDS)
        yield parts.explainer.explain
