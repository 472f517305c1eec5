"""A URL of Prometheus that works on this machine.

The URL is the user's, or the one that the adapter uses, or that of the only Service with the label of the Prometheus
charts. If it names a Service of the cluster, one of its pods is reached by port-forward: through a Unix socket that only this
user can connect to, since Prometheus itself lets everyone read. The user's credentials for Prometheus are sent only to a URL that
the user gives.
"""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import PodList, serving
from kubectl_loadline.cluster.port_forward import forwarded
from kubectl_loadline.cluster.programs import adapter_of
from kubectl_loadline.cluster.service_address import (
    PodPorts,
    Service,
    ServiceAddress,
    ServiceList,
    forwarded_url,
    is_encrypted,
    only_port,
    pod_port,
    service_address,
    url_at_socket,
)
from wire.api.status import StatusError, Unavailable
from wire.kube.client import decoded
from wire.process.command_line.parsing import FlagSet

SERVICE_LABELS: Final = "app.kubernetes.io/name=prometheus"


def add_prometheus_flag(flags: FlagSet) -> None:
    """`--prometheus-url`."""
    flags.add_argument(
        "--prometheus-url",
        default="",
        metavar="URL",
        help="URL of Prometheus; a Service in the cluster is reached by port-forward "
        "(default: that of the adapter, or the Service with the label app.kubernetes.io/name=prometheus)",
    )


@contextlib.asynccontextmanager
async def prometheus_url(
    session: Session, *, url: str, adapter: str, sends_credentials: bool = False
) -> AsyncIterator[str]:
    """A URL that works on this machine until the end of the block. `url` and `adapter` are flags, empty if not given.

    Raises `Unreachable`, `Unavailable` if the API server does not respond, and ValueError if credentials would be sent to a
    Prometheus that the user has not named.
    """
    if sends_credentials and not url:
        raise ValueError(
            "credentials for Prometheus are sent only to a URL that you specify: add --prometheus-url"
        )
    found = url or await _configured(session, adapter)
    address = service_address(found)
    if address is None:
        yield found
        return
    may_be_host = bool(url) and ".svc" not in (urlsplit(url).hostname or "")
    service = await _service(session, address, may_be_host=may_be_host)
    if service is None or not service.spec.selector:
        yield found
        return
    selector = ",".join(f"{name}={value}" for name, value in service.spec.selector.items())
    pod, port = await _pod(session, address, service, selector)
    async with contextlib.AsyncExitStack() as stack:
        socket = None
        if not is_encrypted(found):
            # The mode of the directory lets no other user in.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="loadline-"))
            socket = Path(folder) / "prometheus"
        try:
            forward = await stack.enter_async_context(
                forwarded(
                    session.connection,
                    namespace=address.namespace,
                    pod=pod,
                    port=port,
                    socket=socket,
                )
            )
        except (StatusError, Unavailable) as error:
            raise Unreachable(
                f"cannot reach Prometheus at the Service {address.namespace}/{address.name}: {error.message}. You need "
                f"permission to get and create pods/portforward in the namespace {address.namespace}, or another --prometheus-url."
            ) from error
        yield url_at_socket(found, socket) if socket else forwarded_url(found, forward.local_port)


async def _configured(session: Session, adapter: str) -> str:
    try:
        running = await adapter_of(session, adapter)
    except Unreachable as error:
        return await _labelled(session, str(error))
    return running.argument("--prometheus-url") or await _labelled(
        session, f"the {running} has no flag --prometheus-url"
    )


async def _labelled(session: Session, problem: str) -> str:
    try:
        body = await session.client.get("/api/v1/services", {"labelSelector": SERVICE_LABELS})
        address = only_port(decoded(body, ServiceList, what="ServiceList").items)
    except StatusError as error:
        problem, address = f"{problem}; {error.message}", None
    if address is None:
        raise Unreachable(
            f"cannot find Prometheus: {problem}; and no Service, or more than one, has the label {SERVICE_LABELS}. "
            "Set its URL with --prometheus-url, for example http://prometheus.monitoring.svc:9090."
        )
    return f"http://{address.name}.{address.namespace}.svc:{address.port}"


async def _service(
    session: Session, address: ServiceAddress, *, may_be_host: bool
) -> Service | None:
    """None if the Service does not exist, so that the URL names a host. RBAC also denies requests in a namespace that does not exist."""
    path = f"/api/v1/namespaces/{address.namespace}/services/{address.name}"
    try:
        return decoded(await session.client.get(path), Service, what="Service")
    except StatusError as error:
        if error.code == 404 or (error.code == 403 and may_be_host):
            return None
        raise Unreachable(f"cannot reach Prometheus: {error.message}") from error


async def _pod(
    session: Session, address: ServiceAddress, service: Service, selector: str
) -> tuple[str, int]:
    namespace = address.namespace
    try:
        body = await session.client.get(
            f"/api/v1/namespaces/{namespace}/pods", {"labelSelector": selector}
        )
        names = serving(decoded(body, PodList, what="PodList").items)
        if not names:
            raise Unreachable(
                f"the Service {namespace}/{address.name} of Prometheus has no running pods"
            )
        pod = await session.client.get(f"/api/v1/namespaces/{namespace}/pods/{names[0]}")
    except StatusError as error:
        raise Unreachable(f"cannot reach Prometheus: {error.message}") from error
    port = pod_port(service, address.port, decoded(pod, PodPorts, what="Pod"))
    if port is None:
        raise Unreachable(
            f"the Service {namespace}/{address.name} of Prometheus has no port {address.port}, or its pods do not have the targetPort"
        )
    return names[0], port
