"""The last decision of the running scaler, and decisions on other values: both as derivations."""

import time
from collections.abc import Mapping

import msgspec

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.cluster.programs import scaler_of
from kubectl_loadline.cluster.scaler_decisions import decision_of
from kubectl_loadline.cluster.scaler_settings import settings_in_cluster
from kubectl_loadline.decisions.simulated import Simulation, simulate
from kubectl_loadline.page.events import selector_of
from kubectl_loadline.page.remembered import RememberedReader
from kubectl_loadline.status.row import Row
from scaler.algorithm.decision import Decision
from scaler.algorithm.derivation import Derivation, decoded
from scaler.api.kinds import WatchedKind
from scaler.extensions import STEP_TYPES
from scaler.runtime.clients import Clients
from wire.api.status import Unavailable
from wire.kube.mapper import RestMapper

# What was read for a page serves its sliders for this long; the page itself reads again.
REMEMBERED_SECONDS = 15.0


class ExplainedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A derivation, and who has made it: the end of a sentence that begins with a time."""

    derivation: Derivation
    source: str


class Deciding:
    """Explains and simulates with the user's rights. Create and close it within one event loop."""

    def __init__(
        self,
        session: Session,
        cluster: Cluster,
        clients: Clients,
        *,
        scaler: str,
        skips_verification: bool = False,
    ) -> None:
        """`scaler`: its Deployment, if it is named. `skips_verification`: of its certificate."""
        self._session = session
        self._cluster = cluster
        self._scaler = scaler
        self._skips_verification = skips_verification
        self._clients = clients
        self._mapper = RestMapper(clients.requests)
        self._kube = RememberedReader(clients.requests, seconds=REMEMBERED_SECONDS)
        self._metrics = RememberedReader(clients.metrics, seconds=REMEMBERED_SECONDS)
        self._scalers: dict[tuple[str, str], RunningProgram] = {}

    async def start(self) -> None:
        """Read which resources the cluster has. Raises `StatusError` and `Unavailable`."""
        await self._mapper.refresh()

    async def explained(self, kind: WatchedKind, row: Row) -> ExplainedDecision:
        """The scaler's last decision; if it cannot be read, what would be decided now.

        Raises `StatusError`, `Unavailable` and `ValueError` if that cannot be decided either.
        """
        try:
            scaler = await scaler_of(self._session, kind, row.namespace, self._scaler)
            self._scalers[kind.plural, row.namespace] = scaler
            body = await decision_of(
                self._session,
                self._cluster,
                scaler,
                f"{row.namespace}/{row.name}",
                skips_verification=self._skips_verification,
            )
        except (Unreachable, Unavailable) as error:
            decision = await self.simulated(kind, row, {})
            source = (
                f"computed on this machine with your permissions, because {str(error).rstrip('.')}"
            )
            return ExplainedDecision(derivation=decision.derivation, source=source)
        return ExplainedDecision(
            derivation=decoded(body, STEP_TYPES),
            source=f"by the {scaler}",
        )

    async def simulated(
        self,
        kind: WatchedKind,
        row: Row,
        values: Mapping[str, str],
        replicas: int | None = None,
    ) -> Decision:
        """The decision of `simulate`. Raises `StatusError`, `Unavailable` and `ValueError`."""
        scaler = self._scalers.get((kind.plural, row.namespace))
        simulation = Simulation(
            autoscaler=f"{row.namespace}/{row.name}",
            settings=await settings_in_cluster(self._kube, scaler, kind),
            values=values,
            at_unix_seconds=time.time(),
            replicas=replicas,
        )
        return await simulate(simulation, self._kube, self._metrics, self._mapper)

    async def events(self, kind: WatchedKind, row: Row) -> bytes:
        """The list of its events. Raises `StatusError` and `Unavailable`."""
        path = f"/api/v1/namespaces/{row.namespace}/events"
        return await self._kube.get(path, {"fieldSelector": selector_of(kind.kind, row.name)})

    async def object(self, kind: WatchedKind, row: Row) -> bytes:
        """The autoscaler as it is now. Raises `StatusError` and `Unavailable`."""
        return await self._session.client.get(kind.object(row.namespace, row.name))
