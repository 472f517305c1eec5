"""The replicas that Prometheus has recorded for an autoscaler, from the metrics of the scaler or of kube-state-metrics."""

import math
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from wire.api.quoting import go_quote
from wire.api.status import Unavailable

CURRENT: Final = "current"
DESIRED: Final = "desired"
TIMEOUT_SECONDS: Final = 30.0
POINTS_MAX: Final = 2_000
"""Prometheus refuses more than 11,000; a picture needs far fewer."""

Series = dict[float, float]


class _Range(msgspec.Struct, frozen=True):
    values: tuple[tuple[float, str], ...] = ()


class _Matrix(msgspec.Struct, frozen=True):
    result: tuple[_Range, ...] = ()


class _Response(msgspec.Struct, frozen=True):
    status: str = ""
    error: str = ""
    data: _Matrix = _Matrix()


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


async def recorded(url: str, query: str, *, start: float, end: float, step: float) -> Series:
    """Value by Unix time. Raises `Unavailable` with the reason that Prometheus gives."""
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    address = f"{url.rstrip('/')}/api/v1/query_range"
    is_forwarded = urlsplit(url).hostname == "127.0.0.1"
    form = {"query": query, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:g}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            # The certificate of a pod does not name 127.0.0.1, and no credentials are sent.
            session.post(
                address, data=form, ssl=not is_forwarded, allow_redirects=False
            ) as response,
        ):
            body = await response.read()
            status = response.status
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise Unavailable(f"POST {address}: {error or 'no response in time'}") from error
    return _values(address, status, body)


def _values(address: str, status: int, body: bytes) -> Series:
    try:
        response = msgspec.json.decode(body, type=_Response)
    except msgspec.DecodeError as error:
        raise Unavailable(
            f"POST {address}: status {status}, and the response is not Prometheus': {body[:200]!r}"
        ) from error
    if response.status != "success":
        raise Unavailable(f"POST {address}: status {status}: {response.error}")
    pairs = ((at, float(text)) for each in response.data.result for at, text in each.values)
    return {at: value for at, value in pairs if math.isfinite(value)}
