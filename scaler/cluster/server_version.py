"""Which HPA controller to equal: that of the API server's version, which may change while this process runs.

A control plane is upgraded in place. `GET /version` is read before the first reconcile, again when a watch was
accepted (after a restart of kube-apiserver all of them are opened again), and at least every five minutes; never more often
than every ten seconds. While the servers of a control plane have several versions, each answer may be another one of them:
then the behavior may change back and forth until all are upgraded, which writes statuses and scales nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from scaler.algorithm.settings import Settings
from scaler.api.upstream import NEWEST, OLDEST, minor_of, upstream_of
from wire.api import kube_json
from wire.api.status import StatusError, Unavailable
from wire.kube.requests import Reader
from wire.process.backoff import Backoff, BackoffLimits
from wire.process.problem_log import ProblemLog
from wire.process.readiness import Check

PATH: Final = "/version"
# Between two readings, at most and at least.
READ_SECONDS: Final = 300.0
READ_SECONDS_MIN: Final = 10.0
# The pauses between attempts while it cannot be read: as of discovery.
RETRIES: Final = BackoffLimits(initial_seconds=0.5, max_seconds=4.0, jitter_ratio=0.2)

log = logging.getLogger(__name__)


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    """`k8s.io/apimachinery/pkg/version.Info`; a provider may append `+` to the minor version."""

    major: str
    minor: str


async def settings_of_server(kube: Reader, settings: Settings) -> Settings:
    """`settings` with the HPA controller of the API server's version, for one decision.

    Raises `StatusError`, `Unavailable`, and ValueError for a version that cannot be parsed.
    """
    return settings.of_version(upstream_of(await _minor(kube)))


async def _minor(kube: Reader) -> int:
    read = kube_json.decode(await kube.get(PATH), _Version)
    return minor_of(f"{read.major}.{read.minor}")


class ServerVersion:
    """The settings of the algorithm, by the version of the API server; `run()` keeps them up to date."""

    def __init__(
        self,
        kube: Reader,
        settings: Settings,
        *,
        is_followed: bool,
        on_version: Callable[[str, str], object] = lambda _server, _behavior: None,
    ) -> None:
        """Without `is_followed`, the settings stay as they are and nothing is read.

        `on_version` is called with the version of the server (such as `1.37`, empty if it is not read), and with that whose
        controller is equalled.
        """
        self.settings = settings
        """As of now: the same object until the version changes."""
        self._kube = kube
        self._is_followed = is_followed
        self._on_version = on_version
        self._minor: int | None = None
        self._known, self._is_due = asyncio.Event(), asyncio.Event()
        if not is_followed:
            self._known.set()
            on_version("", f"1.{settings.upstream.minor}")
        self._problem = ProblemLog(
            log,
            failing="the version of the API server cannot be read",
            recovered="the version of the API server can be read",
        )

    async def known(self) -> None:
        """Wait until the version was read once."""
        await self._known.wait()

    def read_again(self) -> None:
        """It may have changed."""
        self._is_due.set()

    async def run(self) -> None:
        """Read the version until cancelled; nothing to do if it is not followed."""
        if not self._is_followed:
            return
        backoff = Backoff(RETRIES)
        while True:
            try:
                await self._read()
            except (StatusError, Unavailable, msgspec.DecodeError, ValueError) as error:
                self._problem.set(str(error))
                await asyncio.sleep(backoff.next_seconds())
                continue
            self._problem.set(None)
            backoff.reset()
            await asyncio.sleep(READ_SECONDS_MIN)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(READ_SECONDS - READ_SECONDS_MIN):
                    await self._is_due.wait()

    def checks(self) -> tuple[Check, ...]:
        """The checks of /readyz; none if no version is followed."""
        if not self._is_followed:
            return ()
        return (
            Check("kubernetes-version", self._unread),
            Check("kubernetes-version-known", self._unknown, informs=True),
        )

    async def _read(self) -> None:
        self._is_due.clear()
        minor = await _minor(self._kube)
        if minor != self._minor:
            before, self._minor = self._minor, minor
            self._changed(before, minor)
        self._known.set()

    def _changed(self, before: int | None, minor: int) -> None:
        upstream = upstream_of(minor)
        if upstream.minor != self.settings.upstream.minor:
            self.settings = self.settings.of_version(upstream)
        was = "" if before is None else f", it was 1.{before}"
        log.info(
            "the API server runs Kubernetes 1.%d%s: HPAs are scaled as by the controller of 1.%d",
            minor,
            was,
            upstream.minor,
        )
        unknown = self._unknown()
        if unknown is not None:
            log.warning("%s", unknown)
        self._on_version(f"1.{minor}", f"1.{upstream.minor}")

    def _unread(self) -> str | None:
        if self._known.is_set():
            return None
        problem = self._problem.problem or "the first request is in progress"
        return (
            f"the version of the API server has not been read yet: {problem}. Nothing is scaled until then: allow GET "
            f"{PATH} (ClusterRole system:public-info-viewer), or set --kubernetes-version"
        )

    def _unknown(self) -> str | None:
        minor = self._minor
        if minor is None or OLDEST.minor <= minor <= NEWEST.minor:
            return None
        is_newer = minor > NEWEST.minor
        return (
            f"Kubernetes 1.{minor} is {'newer' if is_newer else 'older'} than what this version of Loadline knows: HPAs are scaled"
            f" as by the controller of 1.{upstream_of(minor).minor}; {'update Loadline' if is_newer else 'upgrade the control plane'}"
        )
