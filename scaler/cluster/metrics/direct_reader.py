"""Reads metrics from the adapter directly where kube-apiserver would forward the request to it, else through kube-apiserver.

What is read is the same: kube-apiserver forwards a request and its response unchanged. It authorizes the request before
that, and so does the adapter for a direct one, by asking kube-apiserver.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from cachetools import LRUCache

from scaler.cluster.telemetry import Telemetry
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import JSON, BodyTooLarge, Reader
from wire.process.backoff import Backoff, BackoffLimits
from wire.process.problem_log import ProblemLog

# A direct request without a response by then is repeated through kube-apiserver, within the deadline of the metric.
WAIT_DEADLINES: Final = 0.5
NOT_AUTHENTICATED: Final = 401
# kube-apiserver decides by the permissions of the scaler, which may be others than those that the adapter sees.
FORBIDDEN: Final = 403
# The adapter has too many clients to review, or cannot have a token reviewed now: kube-apiserver needs no review there.
NOT_REVIEWED: Final = (429, 503)
# How long a group is read through kube-apiserver in a namespace where a direct request was forbidden.
FORBIDDEN_PAUSES: Final = BackoffLimits(initial_seconds=10.0, max_seconds=300.0, jitter_ratio=0.2)
FORBIDDEN_MAX: Final = 10_000

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
        self,
        aggregated: Reader,
        route: Route,
        telemetry: Telemetry,
        *,
        deadline_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`aggregated`: through kube-apiserver. `deadline_seconds`: of a metric, for both attempts together."""
        self._monotonic = monotonic
        self._aggregated = aggregated
        self._route = route
        self._telemetry = telemetry
        self._wait_seconds = WAIT_DEADLINES * deadline_seconds
        self._forbidden: LRUCache[tuple[str, str], _Forbidden] = LRUCache(FORBIDDEN_MAX)
        """By group and namespace."""
        self._refused = ProblemLog(
            log,
            failing="a direct request was forbidden: the metrics of the namespace are read through kube-apiserver",
            recovered="the adapter accepts direct requests again",
        )

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        """The body of the response. Raises `StatusError` and `Unavailable`."""
        _, _, group, version, _, namespace, *_ = f"{path}//////".split("/")
        direct = self._route.reader(group, version)
        place = (group, namespace)
        if direct is not None and not self._is_forbidden(place):
            try:
                return await self._directly(direct, place, path, params, accept)
            except _NoAnswerError:
                self._telemetry.direct_requests_total.labels("failed").inc()
        return await self._aggregated.get(path, params, accept=accept)

    async def _directly(
        self,
        direct: Reader,
        place: tuple[str, str],
        path: str,
        params: Mapping[str, str] | None,
        accept: str,
    ) -> bytes:
        try:
            async with asyncio.timeout(self._wait_seconds):
                body = await direct.get(path, params, accept=accept)
        except TimeoutError as error:
            raise _NoAnswerError from error
        except BodyTooLarge:
            # The connection works, and kube-apiserver would forward the same response.
            self._telemetry.direct_requests_total.labels("answered").inc()
            raise
        except Unavailable as error:
            self._route.failed(direct, error.message)
            raise _NoAnswerError from error
        except StatusError as error:
            if error.code == NOT_AUTHENTICATED:
                self._route.failed(direct, f"the adapter does not accept the token: {error}")
                raise _NoAnswerError from error
            if error.code == FORBIDDEN:
                self._forbid(place, error.message)
                raise _NoAnswerError from error
            if error.code in NOT_REVIEWED:
                raise _NoAnswerError from error
            self._telemetry.direct_requests_total.labels("answered").inc()
            raise
        if self._forbidden:
            self._allow(place)
        self._telemetry.direct_requests_total.labels("answered").inc()
        return body

    def _is_forbidden(self, place: tuple[str, str]) -> bool:
        forbidden = self._forbidden.get(place) if self._forbidden else None
        return forbidden is not None and self._monotonic() < forbidden.until_seconds

    def _forbid(self, place: tuple[str, str], message: str) -> None:
        forbidden = self._forbidden.get(place)
        if forbidden is None:
            forbidden = self._forbidden[place] = _Forbidden()
        forbidden.until_seconds = self._monotonic() + forbidden.pauses.next_seconds()
        self._refused.set(self._refused.problem or message)

    def _allow(self, place: tuple[str, str]) -> None:
        self._forbidden.pop(place, None)
        if not self._forbidden:
            self._refused.set(None)


class _Forbidden:
    """A group of a namespace that may not be read directly."""

    __slots__ = ("pauses", "until_seconds")

    def __init__(self) -> None:
        self.pauses = Backoff(FORBIDDEN_PAUSES)
        self.until_seconds = 0.0


class _NoAnswerError(Exception):
    """kube-apiserver has to answer."""
