"""Reads metrics from the adapter directly where kube-apiserver would forward the request to it, else through kube-apiserver.

What is read is the same: kube-apiserver forwards a request and its response unchanged. It authorizes the request before
that, and so does the adapter for a direct one, by asking kube-apiserver.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Final, Protocol

from scaler.cluster.telemetry import Telemetry
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import JSON, Reader
from wire.process.problem_log import ProblemLog

# A direct request without a response by then is repeated through kube-apiserver, within the deadline of the metric.
WAIT_DEADLINES: Final = 0.5
# What kube-apiserver decides by the same permissions, but with all its authenticators.
NOT_ADMITTED: Final = (401, 403)

log = logging.getLogger(__name__)


class Route(Protocol):
    """The connection to the adapter."""

    def reader(self, group: str, version: str) -> Reader | None:
        """A client of the adapter, if it works and kube-apiserver forwards this group and version to the adapter."""
        ...

    def failed(self, reader: Reader, problem: str) -> None:
        """A request with this client had no response."""
        ...


class DirectReader:
    """A `Reader` of the metrics APIs."""

    def __init__(
        self, aggregated: Reader, route: Route, telemetry: Telemetry, *, deadline_seconds: float
    ) -> None:
        """`aggregated`: through kube-apiserver. `deadline_seconds`: of a metric, for both attempts together."""
        self._aggregated = aggregated
        self._route = route
        self._telemetry = telemetry
        self._wait_seconds = WAIT_DEADLINES * deadline_seconds
        self._refused = ProblemLog(
            log,
            failing="the adapter did not admit a direct request, which is sent through kube-apiserver",
            recovered="the adapter admits direct requests again",
        )

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of the response. Raises `StatusError` and `Unavailable`."""
        _, _, group, version, *_ = f"{path}////".split("/")
        direct = self._route.reader(group, version)
        if direct is not None:
            try:
                return await self._directly(direct, path, params, accept)
            except (_NoAnswerError, Unavailable):
                self._telemetry.direct_requests_total.labels("failed").inc()
        return await self._aggregated.get(path, params, accept=accept)

    async def _directly(
        self, direct: Reader, path: str, params: Mapping[str, str] | None, accept: str
    ) -> bytes:
        try:
            async with asyncio.timeout(self._wait_seconds):
                body = await direct.get(path, params, accept=accept)
        except TimeoutError as error:
            raise _NoAnswerError from error
        except Unavailable as error:
            self._route.failed(direct, error.message)
            raise
        except StatusError as error:
            if error.code in NOT_ADMITTED:
                self._refused.set(error.message)
                raise _NoAnswerError from error
            self._telemetry.direct_requests_total.labels("answered").inc()
            raise
        self._refused.set(None)
        self._telemetry.direct_requests_total.labels("answered").inc()
        return body


class _NoAnswerError(Exception):
    """kube-apiserver has to answer."""
