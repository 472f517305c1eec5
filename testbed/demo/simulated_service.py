"""A simulated service and queue under the load, exposed to Prometheus.

Requests are spread evenly over the running pods; without a pod they are lost. Messages wait in a queue that every
running replica drains at the same rate.
"""

from collections.abc import Sequence

import msgspec

from testbed.demo.load_plan import DRAINED_PER_REPLICA, NAMESPACE
from testbed.exporter import Exporter

QUEUE = "mail"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The running pods of both workloads at one moment."""

    web_pods: Sequence[str]
    worker_replicas: int
    at_seconds: float  # monotonic clock


def queue_length(
    before: float, *, arriving: float, draining: float, elapsed_seconds: float
) -> float:
    """The queue length after `elapsed_seconds` at both rates (messages per second)."""
    return max(0.0, before + (arriving - draining) * elapsed_seconds)


class Service:
    """Call `advance` often: the load is taken as constant between two calls."""

    def __init__(self, exporter: Exporter) -> None:
        self._exporter = exporter
        self._serving: frozenset[str] = frozenset()
        self._queue = 0.0
        self._advanced_at_seconds: float | None = None

    def advance(
        self, running: Running, *, requests_per_second: float, messages_per_second: float
    ) -> None:
        """Apply the current load to the running pods."""
        self._spread(frozenset(running.web_pods), requests_per_second)
        elapsed_seconds = running.at_seconds - (self._advanced_at_seconds or running.at_seconds)
        self._advanced_at_seconds = running.at_seconds
        self._queue = queue_length(
            self._queue,
            arriving=messages_per_second,
            draining=DRAINED_PER_REPLICA * running.worker_replicas,
            elapsed_seconds=elapsed_seconds,
        )
        self._exporter.set("queue_length", round(self._queue), queue=QUEUE)

    def _spread(self, pods: frozenset[str], requests_per_second: float) -> None:
        for gone in self._serving - pods:
            self._exporter.remove("http_requests_total", namespace=NAMESPACE, pod=gone)
        for pod in pods:
            share = requests_per_second / len(pods)
            self._exporter.increase("http_requests_total", share, namespace=NAMESPACE, pod=pod)
        self._serving = pods
