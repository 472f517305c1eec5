"""Which Deployment the APIServices of the metrics APIs lead to, and the CA with which kube-apiserver verifies it.

Only an administrator of the cluster can write an APIService. A label, in contrast, can be on any Deployment.
"""

import asyncio
from typing import Final

import msgspec

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import DeploymentList, RunningProgram, running
from kubectl_loadline.cluster.service_address import Service
from wire.api import custom_metrics, external_metrics, resource_metrics
from wire.api.status import StatusError
from wire.kube.api_services import PATH as API_SERVICES
from wire.kube.api_services import APIService
from wire.kube.client import decoded

USAGE: Final = f"v1beta1.{resource_metrics.GROUP}"
REGISTERED: Final = (
    f"v1beta2.{custom_metrics.GROUP}",
    f"v1beta1.{custom_metrics.GROUP}",
    f"v1beta1.{external_metrics.GROUP}",
    USAGE,
)
"""Read by name, so that a right for these names is enough."""


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A Service that serves a metrics API. `ca_pem` is empty if kube-apiserver does not verify it with a CA."""

    namespace: str
    name: str
    api_service: str
    ca_pem: str

    @property
    def host(self) -> str:
        """The name for which its certificate is valid."""
        return f"{self.name}.{self.namespace}.svc"


async def registrations(session: Session) -> tuple[Registration, ...]:
    """One for each API version that a Service serves. Raises `Unreachable` if they may not be read."""
    found = []
    read = await asyncio.gather(*(_api_service(session, name) for name in REGISTERED))
    for name, api_service in zip(REGISTERED, read, strict=True):
        service = api_service.spec.service if api_service is not None else None
        if api_service is None or service is None:
            continue
        pem = b"" if api_service.spec.insecure else api_service.trusted_pem
        found.append(
            Registration(
                namespace=service.namespace,
                name=service.name,
                api_service=name,
                ca_pem=pem.decode("ascii", "replace"),
            )
        )
    return tuple(found)


async def registered_adapters(session: Session) -> tuple[RunningProgram, ...]:
    """The Deployments of the adapter that these Services lead to. Those whose command names it come before the others: beside
    the chart's adapter, the image may run in the manifests of prometheus-adapter too.

    Raises `Unreachable` if there are none, and some may not be read.
    """
    found: list[RunningProgram] = []
    problem = None
    services = {(each.namespace, each.name): each for each in await registrations(session)}
    for registration in services.values():
        namespace = registration.namespace
        try:
            body = await _read(
                session,
                f"/apis/apps/v1/namespaces/{namespace}/deployments",
                right=f"list deployments in the namespace {namespace}",
            )
            deployments = running(
                decoded(body, DeploymentList, what="DeploymentList").items, "adapter"
            )
            found += [each for each in deployments if await leads_to(session, registration, each)]
        except Unreachable as error:
            # Perhaps the namespace of another metrics API.
            problem = error
    if not found and problem is not None:
        raise problem
    return tuple(each for each in found if each.has_command) or tuple(found)


async def leads_to(session: Session, registration: Registration, program: RunningProgram) -> bool:
    """Whether the Service leads to pods of this Deployment; one without a selector leads to the Deployment of its name.

    Raises `Unreachable` if the Service may not be read.
    """
    namespace, name = registration.namespace, registration.name
    if program.namespace != namespace:
        return False
    body = await _read(
        session,
        f"/api/v1/namespaces/{namespace}/services/{name}",
        right=f"get services in the namespace {namespace}",
    )
    selector = decoded(body, Service, what="Service").spec.selector
    if not selector:
        return program.name == name
    return selector.items() <= program.pod_labels.items()


async def _api_service(session: Session, name: str) -> APIService | None:
    try:
        body = await _read(
            session,
            f"{API_SERVICES}/{name}",
            right="get apiservices.apiregistration.k8s.io, which the ClusterRole RELEASE:explain of the adapter chart grants",
        )
    except Unreachable as error:
        if isinstance(error.__cause__, StatusError) and error.__cause__.code == 404:
            return None
        raise
    return decoded(body, APIService, what="APIService")


async def _read(session: Session, path: str, *, right: str) -> bytes:
    try:
        return await session.client.get(path)
    except StatusError as error:
        raise Unreachable(
            f"cannot find the adapter: {error.message}. You need permission to {right}."
        ) from error
