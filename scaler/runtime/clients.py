"""The connections of the scaler to the API server, in pools that cannot exhaust each other.

| pool | for | why it has its own |
|---|---|---|
| requests | scales, statuses, discovery, events, reviews | |
| watches | LIST and WATCH | each watch keeps a connection for as long as the process runs |
| leases | the Lease | a leader that cannot renew in time stops scaling |
| metrics | the metrics APIs | a metrics API that hangs keeps its connections until the deadline |
"""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final, Self

import msgspec

from scaler.runtime.websocket import WebSocket, websocket
from wire.kube.client import CONNECTIONS_MAX, KubeClient
from wire.kube.cluster_access import SERVICE_ACCOUNT_FOLDER
from wire.kube.connection import Connection
from wire.process.response_budget import ResponseBudget

# The metrics of 100,000 pods of one namespace take 40 MB. A metrics API that sends more must not fill the memory.
METRICS_RESPONSE_BYTES_MAX: Final = 2**26
# What all metrics that are being read take, beside the largest one and the first part of each, which are the metrics of 600 pods.
METRICS_READING_BYTES: Final = 2**25
METRICS_FREE_BYTES: Final = 2**18
# A Loadline adapter closes connections of an address that has more than 115, and what they carry has failed.
ADAPTER_CONNECTIONS_MAX: Final = 100
# Half of the connections of a pool, and many times what a kube-apiserver that keeps up leaves without a response.
REQUESTS_IN_FLIGHT_MAX: Final = CONNECTIONS_MAX // 2


class Clients(msgspec.Struct, frozen=True, kw_only=True):
    """One client per pool, all for the same API server and with the same credentials."""

    requests: KubeClient
    watches: KubeClient
    leases: KubeClient
    metrics: KubeClient

    @classmethod
    def over(cls, connection: Connection) -> Self:
        """Clients that share `connection`; nothing is sent yet."""
        return cls(
            requests=KubeClient(connection),
            watches=KubeClient(connection, connections_max=0),
            leases=KubeClient(connection),
            metrics=MetricsClient(connection, metrics_budget()),
        )

    def is_overloaded(self) -> bool:
        """Whether kube-apiserver has so many requests to respond to that more would wait for a connection."""
        return self.requests.requests_in_flight >= REQUESTS_IN_FLIGHT_MAX

    async def close(self) -> None:
        """Close every connection."""
        for client in (self.metrics, self.leases, self.watches, self.requests):
            await client.close()


def metrics_budget() -> ResponseBudget:
    """That of one process, for kube-apiserver and all adapters together."""
    return ResponseBudget(
        METRICS_READING_BYTES,
        response_bytes_max=METRICS_RESPONSE_BYTES_MAX,
        free_bytes=METRICS_FREE_BYTES,
    )


class MetricsClient(KubeClient):
    """A client of the metrics APIs."""

    def __init__(
        self,
        connection: Connection,
        budget: ResponseBudget,
        *,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        """`connections_max`: further requests wait for one of them, within their timeout."""
        super().__init__(
            connection,
            connections_max=connections_max,
            budget=budget,
            decompresses=False,
        )

    def websocket(self, path: str) -> AbstractAsyncContextManager[WebSocket]:
        """A WebSocket, on a connection of its own. Raises `StatusError` if the server refuses it."""
        return websocket(self._connection, path, message_bytes_max=METRICS_RESPONSE_BYTES_MAX)


def own_namespace(folder: Path = SERVICE_ACCOUNT_FOLDER) -> str:
    """The pod's namespace; outside a cluster `kube-system`, as kube-controller-manager."""
    try:
        return (folder / "namespace").read_text().strip()
    except OSError:
        return "kube-system"
