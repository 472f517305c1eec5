"""Requests for a metric that are sent throughout a block."""

from contextlib import closing

from testbed import web
from testbed.background import Repeated
from testbed.cluster import Cluster
from testbed.waiting import until


class Requests(Repeated):
    """Sends requests through kube-apiserver one after the other until the block ends; `failures` has what went wrong."""

    def __init__(self, cluster: Cluster, path: str, *, every_seconds: float = 0.03) -> None:
        super().__init__(every_seconds)
        self._path = path
        self._connections = web.Connections(cluster.api_port, tls=lambda: cluster.administrator_tls)
        self.succeeded = 0
        self.failures: list[str] = []

    def expect_more(self) -> None:
        """Wait until ten more requests have succeeded."""
        goal = self.succeeded + 10
        until(lambda: self.succeeded > goal, what=f"more than {goal} requests to succeed")

    def once(self) -> None:
        """One request."""
        response = self._connections.get(self._path)
        if response is not None and response.status == 200:
            self.succeeded += 1
        else:
            self.failures.append("no response" if response is None else str(response.body))

    def _run(self) -> None:
        with closing(self._connections):
            super()._run()
