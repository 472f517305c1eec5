"""Pure: which Service an address inside the cluster names, and which port of its pods that is."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit, urlunsplit

import msgspec

from wire.api.meta import ObjectMeta
from wire.prometheus.access import unix_url

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_SERVICE_HOST: Final = re.compile(
    r"(?P<name>[a-z0-9-]+)\.(?P<namespace>[a-z0-9-]+)(\.svc(\.[a-z0-9.-]+)?)?\.?"
)


class ServiceAddress(msgspec.Struct, frozen=True, kw_only=True):
    """A Service and one of its ports."""

    namespace: str
    name: str
    port: int


class ServicePort(msgspec.Struct, frozen=True, rename="camel"):
    """A port of a Service; `target_port` is a number, or the name of a port of the container."""

    port: int
    name: str = ""
    target_port: int | str | None = None


class _ServiceSpec(msgspec.Struct, frozen=True):
    selector: dict[str, str] | None = None
    ports: tuple[ServicePort, ...] = ()


class Service(msgspec.Struct, frozen=True):
    """The part of a Service that leads to its pods."""

    metadata: ObjectMeta
    spec: _ServiceSpec = _ServiceSpec()


class ServiceList(msgspec.Struct, frozen=True):
    """A list of Services."""

    items: tuple[Service, ...] = ()


class _ContainerPort(msgspec.Struct, frozen=True, rename="camel"):
    container_port: int
    name: str = ""


class _Container(msgspec.Struct, frozen=True):
    ports: tuple[_ContainerPort, ...] = ()


class _PodSpec(msgspec.Struct, frozen=True):
    containers: tuple[_Container, ...] = ()


class PodPorts(msgspec.Struct, frozen=True):
    """The ports of a pod."""

    spec: _PodSpec = _PodSpec()


def service_address(url: str) -> ServiceAddress | None:
    """The Service of a URL such as `http://prometheus.monitoring.svc:9090/prefix`; None for another host."""
    parts = urlsplit(url)
    match = _SERVICE_HOST.fullmatch(parts.hostname or "")
    # An IP address has four numbers, and the domain of a company ends in letters without .svc.
    if match is None or (match[3] is None and parts.port is None):
        return None
    return ServiceAddress(namespace=match["namespace"], name=match["name"], port=_port(parts))


def is_encrypted(url: str) -> bool:
    """Whether the Service speaks TLS."""
    return urlsplit(url).scheme == "https"


def forwarded_url(url: str, local_port: int) -> str:
    """The same URL at a local port."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"127.0.0.1:{local_port}"))


def url_at_socket(url: str, socket: Path) -> str:
    """The same URL at a Unix socket."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return unix_url(socket, f"{parts.path}{query}")


def pod_port(service: Service, port: int, pod: PodPorts) -> int | None:
    """The port of the pod that `port` of the Service leads to; None if there is no such port."""
    found = [each for each in service.spec.ports if each.port == port]
    if not found:
        return None
    target = found[0].target_port
    if target is None:
        return port
    if isinstance(target, int):
        return target
    named = (each for container in pod.spec.containers for each in container.ports)
    return next((each.container_port for each in named if each.name == target), None)


def only_port(services: Sequence[Service]) -> ServiceAddress | None:
    """The HTTP port of the only Service; None if there are several, or none."""
    if len(services) != 1:
        return None
    metadata, ports = services[0].metadata, services[0].spec.ports
    named = [each for each in ports if each.name in ("http", "web", "http-web")] or list(ports)
    if not named:
        return None
    return ServiceAddress(namespace=metadata.namespace, name=metadata.name, port=named[0].port)


def _port(parts: SplitResult) -> int:
    return parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
