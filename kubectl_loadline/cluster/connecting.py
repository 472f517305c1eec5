"""One connection for the whole command, and what is printed when something cannot be read."""

import contextlib
import logging
from collections.abc import AsyncIterator, Coroutine
from importlib.metadata import version
from typing import Any

import msgspec

from kubectl_loadline.cluster.autoscaler_name import AutoscalerName, short_name
from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.cluster.reported_requests import ReportedRequests
from kubectl_loadline.terminal.exit_codes import FAILED, WRONG
from kubectl_loadline.terminal.progress import ProgressLine
from kubectl_loadline.terminal.screen import print_note
from scaler.api.kinds import WatchedKind
from wire.api.status import StatusError, Unavailable, not_found
from wire.kube.client import KubeClient
from wire.kube.cluster_access import AccessSource, ClusterAccess, ConnectionConfigError
from wire.kube.connection import Connection, access_source, connect
from wire.kube.requests import Watcher, Writer
from wire.process.command_line.program import DISTRIBUTION
from wire.process.event_loop import run


class Unreachable(Exception):
    """A program cannot be found or reached; the message has its Deployment and the right that is missing."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A connection to the API server, and the namespace of the command."""

    connection: Connection
    client: Writer
    namespace: str
    progress: ProgressLine = msgspec.field(default_factory=ProgressLine)


def user_agent() -> str:
    """As the API server's audit log shows it."""
    return f"kubectl-loadline/{version(DISTRIBUTION)}"


@contextlib.asynccontextmanager
async def connected(cluster: Cluster) -> AsyncIterator[Session]:
    """Raises `ConnectionConfigError`."""
    kubeconfig = cluster.used_kubeconfig
    connection = await connect(kubeconfig, context=cluster.context, user_agent=user_agent())
    if cluster.impersonation:
        source = access_source(kubeconfig, cluster.context)
        impersonating = _Impersonating(source, cluster.impersonation)
        connection = Connection(impersonating, await impersonating.read(), user_agent=user_agent())
    client = KubeClient(connection, timeout_seconds=cluster.request_timeout_seconds)
    try:
        namespace = cluster.namespace or connection.namespace
        progress = ProgressLine()
        yield Session(
            connection=connection,
            client=ReportedRequests(client, progress),
            namespace=namespace,
            progress=progress,
        )
    finally:
        await client.close()


class _Impersonating:
    """Credentials that are used to act as another user."""

    def __init__(self, source: AccessSource, impersonation: tuple[tuple[str, str], ...]) -> None:
        self._source = source
        self._impersonation = impersonation

    async def read(self, *, refused: bool = False) -> ClusterAccess:
        access = await self._source.read(refused=refused)
        return msgspec.structs.replace(access, impersonation=self._impersonation)


@contextlib.asynccontextmanager
async def watching(session: Session) -> AsyncIterator[Watcher]:
    """A client for watches, with connections of its own."""
    client = KubeClient(session.connection)
    try:
        yield client
    finally:
        await client.close()


async def existing(session: Session, target: AutoscalerName) -> tuple[WatchedKind, str, bytes]:
    """The kind, the namespace and the object that `target` means. Raises `StatusError` and `Unavailable`."""
    namespace = target.namespace or session.namespace
    forbidden = None
    for kind in target.kinds:
        try:
            return kind, namespace, await session.client.get(kind.object(namespace, target.name))
        except StatusError as error:
            # A kind that the cluster does not have is forbidden, too, to a user who is not an administrator.
            if error.code == 403:
                forbidden = forbidden or error
            elif error.code != 404:
                raise
    if forbidden is not None:
        raise forbidden
    kinds = " or ".join(kind.kind for kind in target.kinds)
    raise not_found(
        f"there is no {kinds} {target.name} in the namespace {namespace}: "
        f"see kubectl get {','.join(map(short_name, target.kinds))} -n {namespace}"
    )


def ended(command: str, work: Coroutine[Any, Any, int]) -> int:
    """Run a command; what it could not read is reported on stderr. Returns the exit code."""
    # The log would repeat what the message says.
    logging.disable(logging.CRITICAL)
    try:
        return run(work)
    except (StatusError, Unavailable) as error:
        problem, code = error.message, FAILED
    except Unreachable as error:
        problem, code = str(error), FAILED
    except (ConnectionConfigError, ValueError) as error:
        problem, code = str(error), WRONG
    finally:
        logging.disable(logging.NOTSET)
    print_note(command, problem)
    return code
