"""Reads counters from a program's /metrics."""

import re
import ssl
from collections.abc import Iterator

from testbed import web


def total(
    port: int, metric: str, *, having: tuple[str, ...] = (), tls: ssl.SSLContext | None = None
) -> float:
    """The sum of a metric's series whose labels contain all texts of `having`. Raises ValueError without a response."""
    return summed(exposition(port, tls), metric, having=having)


def by_label(
    port: int, metric: str, label: str, *, tls: ssl.SSLContext | None = None
) -> dict[str, float]:
    """A metric's series by the value of a label. Raises ValueError without a response."""
    return {
        found[1]: float(line.rpartition(" ")[2])
        for line in _series(exposition(port, tls), metric)
        if (found := re.search(rf'{label}="([^"]*)"', line))
    }


def exposition(port: int, tls: ssl.SSLContext | None) -> str:
    """The text of /metrics. Raises ValueError without a response."""
    response = web.get(port, "/metrics", tls=tls)
    if response is None or response.status != 200:
        raise ValueError(f"port {port} does not serve its metrics: {response}")
    return response.text


def summed(text: str, metric: str, *, having: tuple[str, ...] = ()) -> float:
    """The same sum for an exposition."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in _series(text, metric)
        if all(each in line for each in having)
    )


def _series(text: str, metric: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.startswith((f"{metric} ", f"{metric}{{")))
