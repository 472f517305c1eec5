"""Reads counters from a program's /metrics."""

import ssl

from testbed import web


def total(port: int, metric: str, *, having: str = "", tls: ssl.SSLContext | None = None) -> float:
    """The sum of a counter's series whose labels contain the text `having`. Raises ValueError without a response."""
    response = web.get(port, "/metrics", tls=tls)
    if response is None or response.status != 200:
        raise ValueError(f"port {port} port {port}: {response}")
    return summed(response.text, metric, having=having)


def summed(text: str, metric: str, *, having: str = "") -> float:
    """The same sum for an exposition."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith((f"{metric} ", f"{metric}{{")) and having in line
    )
