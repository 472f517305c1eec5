"""The replicas that Prometheus has recorded for an autoscaler, from the metrics of the scaler or of kube-state-metrics."""

import math
import ssl
from collections.abc import Mapping
from functools import cache
from typing import Final
from urllib.parse import urlsplit

import msgspec

from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from wire.api.quoting import go_quote
from wire.api.status import Unavailable
from wire.process.proxy import proxy_of_environment
from wire.process.trusted_certificates import client_context
from wire.prometheus.access import Route
from wire.prometheus.query_api import PrometheusQueries, RangeSeries
from wire.prometheus.transport import NoAnswer, Transport

CURRENT: Final = "current"
DESIRED: Final = "desired"
TIMEOUT_SECONDS: Final = 30.0
POINTS_MAX: Final = 2_000
"""Prometheus refuses more than 11,000; a picture needs far fewer."""

RESPONSE_BYTES_MAX: Final = 2**20

Series = dict[float, float]


def replicas_query(kind: WatchedKind, which: str, namespace: str, name: str) -> str:
    """PromQL for one count of one autoscaler; `which` is current or desired.

    Where a scrape has a namespace label of its own, Prometheus renames that of the metric to exported_namespace.
    """
    inside, named = go_quote(namespace), go_quote(name)
    if kind is LOAD_AUTOSCALERS:
        own, state, label = (
            f"name={named},kind={go_quote(kind.kind)}",
            "kube_loadautoscaler",
            "loadautoscaler",
        )
    else:
        own, state, label = (
            f"hpa_name={named}",
            "kube_horizontalpodautoscaler",
            "horizontalpodautoscaler",
        )
    scaler = f"loadline_scaler_autoscaler_status_{which}_replicas"
    states = f"{state}_status_{which}_replicas"
    sources = (
        f"{scaler}{{exported_namespace={inside},{own}}}",
        f'{scaler}{{namespace={inside},exported_namespace="",{own}}}',
        f"{states}{{exported_namespace={inside},{label}={named}}}",
        f'{states}{{namespace={inside},exported_namespace="",{label}={named}}}',
    )
    return " or ".join(f"max({each})" for each in sources)


def step_for(seconds: float, *, points: int = POINTS_MAX) -> float:
    """The least step, in whole quarters of a minute, with at most `points` samples."""
    return max(15.0, math.ceil(seconds / points / 15.0) * 15.0)


@cache
def _system_context() -> ssl.SSLContext:
    return client_context(None)


class NoCredentials(msgspec.Struct, frozen=True):
    """For a Prometheus that all users may read."""

    url: str

    @property
    def _is_forwarded(self) -> bool:
        """Whether it is a pod behind a port-forward, whose certificate does not name 127.0.0.1."""
        return urlsplit(self.url).hostname == "127.0.0.1"

    async def headers(self) -> Mapping[str, str]:
        """None."""
        return {}

    async def renew(self) -> None:
        """There are none."""

    def tls(self) -> ssl.SSLContext | bool:
        """By the system's CA certificates."""
        return False if self._is_forwarded else _system_context()

    @property
    def has_client_certificate(self) -> bool:
        """Never."""
        return False

    def route(self) -> Route:
        """Through the proxy of the environment."""
        return Route(proxy=None if self._is_forwarded else proxy_of_environment(self.url))


async def recorded(url: str, query: str, *, start: float, end: float, step: float) -> Series:
    """Value by Unix time. Raises `Unavailable` with the reason that Prometheus gives."""
    found = await recorded_series(url, query, start=start, end=end, step=step)
    return {at: value for each in found for at, value in each.samples.items()}


async def recorded_series(
    url: str,
    query: str,
    *,
    start: float,
    end: float,
    step: float,
    bytes_max: int = RESPONSE_BYTES_MAX,
) -> tuple[RangeSeries, ...]:
    """All series of a query. Raises `Unavailable` with the reason that Prometheus gives."""
    transport = Transport(url, NoCredentials(url), user_agent="kubectl-loadline", verb="POST")
    queries = PrometheusQueries(transport, seconds=TIMEOUT_SECONDS, bytes_max=bytes_max)
    try:
        return (await queries.range(query, start=start, end=end, step=step)).series
    except NoAnswer as error:
        raise Unavailable(f"Prometheus cannot be read: {error.cause}") from error
    finally:
        await queries.close()
