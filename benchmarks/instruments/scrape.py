"""Counters of programs, read from their /metrics."""

import ssl

from testbed import web


def total(port: int, metric: str, *, having: str = "", tls: ssl.SSLContext | None = None) -> float:
    """The sum of a counter's series whose labels contain the text `having`. Raises ValueError without an answer."""
    answer = web.get(port, "/metrics", tls=tls)
    if answer is None or answer.status != 200:
        raise ValueError(f"port {port} does not report its metrics: {answer}")
    return summed(answer.text, metric, having=having)


def summed(text: str, metric: str, *, having: str = "") -> float:
    """The same of an exposition."""
    return sum(
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith((f"{metric} ", f"{metric}{{")) and having in line
    )
