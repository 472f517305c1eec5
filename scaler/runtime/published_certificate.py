"""Publishes the serving certificate of this process in a ConfigMap, from which `kubectl loadline` reads what to verify it with.

The replicas share the ConfigMap: each adds its own certificate to the bundle, and removes those that have expired. A key
never leaves its pod. Needs get and patch of the ConfigMap, by name.
"""

import asyncio
import datetime
import logging
from collections.abc import Callable
from typing import Final

import msgspec

from scaler.cluster.certificate_config_map import BUNDLE_KEY, CertificateConfigMap
from wire.api.status import StatusError, Unavailable
from wire.kube.client import decoded
from wire.kube.requests import Writer
from wire.process.problem_log import ProblemLog
from wire.serving.certificates import CertificateError, certificates_in

CERTIFICATES_MAX: Final = 64
"""As many as there may be replicas with --sharding. The pods of former releases leave theirs behind."""

CHECK_SECONDS: Final = 60.0
ATTEMPTS_MAX: Final = 5
"""Of a write. Another one is made when another replica was faster, and the next check tries again."""

log = logging.getLogger(__name__)


def bundle_with(bundle: str, served: bytes, now: datetime.datetime) -> str:
    """The bundle with the first certificate of `served` (PEM); the same if it is in it and nothing has expired.

    The newest is the first. Raises `CertificateError` if `served` cannot be read.
    """
    own = certificates_in(served)[0]
    try:
        known = certificates_in(bundle.encode())
    except CertificateError:
        known = ()
    valid = {each.pem: each for each in known if each.not_after > now}
    if own.pem not in valid:
        valid = {own.pem: own, **valid}
    return b"".join(list(valid)[:CERTIFICATES_MAX]).decode("ascii")


class PublishedCertificate:
    """Run `run()` as a task."""

    def __init__(
        self,
        client: Writer,
        config_map: tuple[str, str],
        served: Callable[[], bytes],
        *,
        now: Callable[[], datetime.datetime] = lambda: datetime.datetime.now(datetime.UTC),
    ) -> None:
        """`config_map`: its namespace and name. `served`: the certificate that is served now (PEM)."""
        namespace, name = config_map
        self._client = client
        self._path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        self._served = served
        self._now = now
        self._problem = ProblemLog(
            log,
            failing=f"the serving certificate cannot be published in ConfigMap {namespace}/{name}, so `kubectl loadline why` "
            "cannot verify it",
            recovered=f"the serving certificate is published in ConfigMap {namespace}/{name}",
        )
        self._problem.problem = "not published yet"

    async def run(self) -> None:
        """Publish the certificate, and again if it changes or is removed. Ends only by cancellation."""
        while True:
            try:
                await self.publish()
                self._problem.set(None)
            except (StatusError, Unavailable, CertificateError) as error:
                self._problem.set(str(error))
            await asyncio.sleep(CHECK_SECONDS)

    async def publish(self) -> None:
        """Raises `StatusError`, `Unavailable` and `CertificateError`."""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            body = await self._client.get(self._path)
            found = decoded(body, CertificateConfigMap, what="ConfigMap")
            present = found.data.get(BUNDLE_KEY, "")
            bundle = bundle_with(present, self._served(), self._now())
            if bundle == present:
                return
            try:
                await self._write(found, bundle)
            except StatusError as error:
                if error.code != 409 or attempt == ATTEMPTS_MAX:
                    raise
            else:
                return

    async def _write(self, found: CertificateConfigMap, bundle: str) -> None:
        """Change the object as it was read: if it has changed since, the API server responds with 409."""
        version = {"resourceVersion": found.metadata.resource_version}
        change = {"metadata": version, "data": {BUNDLE_KEY: bundle}}
        await self._client.patch(self._path, msgspec.json.encode(change))
