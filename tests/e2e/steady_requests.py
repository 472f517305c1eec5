"""Requests for a metric that are sent throughout a block."""

import threading
from types import TracebackType
from typing import Self

from testbed import web
from testbed.cluster import Cluster
from testbed.waiting import until


class Requests:
    """Sends requests through kube-apiserver one after the other until the block ends; `failures` has what went wrong."""

    def __init__(self, cluster: Cluster, path: str, *, every_seconds: float = 0.01) -> None:
        self._path, self._every_seconds = path, every_seconds
        self._tls, self._port = cluster.administrator_tls(), int(cluster.api_url.rsplit(":", 1)[1])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.succeeded = 0
        self.failures: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        self._thread.join()

    def expect_more(self) -> None:
        """Wait until ten more requests have succeeded."""
        goal = self.succeeded + 10
        until(lambda: self.succeeded > goal, what=f"more than {goal} requests to succeed")

    def _run(self) -> None:
        while not self._stopping.wait(self._every_seconds):
            response = web.get(self._port, self._path, tls=self._tls)
            if response is not None and response.status == 200:
                self.succeeded += 1
            else:
                self.failures.append("no response" if response is None else str(response.body))
