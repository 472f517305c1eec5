"""The adapter's parts without its listener: what a server of this configuration would answer from here."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from adapter.answer import Answers
from adapter.answer.explaining import Explainer
from adapter.commands.credentials import credentials_of
from adapter.commands.flags import PrometheusFlags
from adapter.commands.in_force import Switch, Upkeep
from adapter.config import load
from adapter.fetch.catalog import Times
from adapter.fetch.kubernetes import ClusterMapping, WatchedObjects
from adapter.fetch.prometheus import Backends
from wire.kube.client import KubeClient
from wire.kube.mapper import RestMapper

LISTING_SECONDS: Final = 30.0
"""How long the series of all rules may take to list; what is not listed by then is told as a gap."""


@contextlib.asynccontextmanager
async def local_explainer(
    config: Path, flags: PrometheusFlags, client: KubeClient, mapper: RestMapper, *, user_agent: str
) -> AsyncIterator[Explainer]:
    """Everything plugged together as in the server. `mapper` has read the cluster's resources.

    Raises `ConfigError`, and what `credentials_of` raises.
    """
    upkeep = Upkeep()
    backends = Backends({})
    mapping = ClusterMapping(mapper)
    answers = Answers(
        prometheus=backends,
        objects=WatchedObjects(client, mapping, upkeep.spawn),
        mapping=mapping,
    )
    switch = Switch(
        config,
        default_backend=flags.backend,
        default_credentials=await credentials_of(flags, user_agent=user_agent),
        backends=backends,
        prometheus=backends,
        mapping=mapping,
        times=Times(),
        answers=answers,
        upkeep=upkeep,
    )
    try:
        await switch.apply(load(config))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(switch.catalog.tried(), LISTING_SECONDS)
        yield Explainer(answers, prometheus=backends, mapping=mapping)
    finally:
        await upkeep.end()
        await backends.close()
