"""How the certificate of a program is verified before the user's credentials are sent to it: a program that has them can act as the user.

| program | the CA | who can change it |
|---|---|---|
| adapter | `caBundle` of the APIServices of its Service | an administrator of the cluster |
| scaler | the ConfigMap of its flag --certificate-config-map | an administrator of the namespace of the scaler |
"""

from typing import Final
from urllib.parse import quote

import msgspec

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.registrations import leads_to, registrations
from scaler.cluster.certificate_config_map import BUNDLE_KEY, CertificateConfigMap
from wire.api.status import StatusError
from wire.kube.client import decoded

CERTIFICATE_FLAG: Final = "--certificate-config-map"
LOOPBACK_NAME: Final = "localhost"
"""In every certificate that the scaler creates: its pods are reached by port-forward."""
SKIP: Final = "With --insecure-skip-tls-verify, your credentials are sent to whatever program runs in its pod."


class ServerIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What the certificate of a server must be valid for, by one of these CAs."""

    ca_pem: str
    server_name: str


async def identity_of_adapter(session: Session, adapter: RunningProgram) -> ServerIdentity:
    """As kube-apiserver verifies it. Raises `Unreachable` with the fix if it does not."""
    found = [
        each for each in await registrations(session) if await leads_to(session, each, adapter)
    ]
    verified = [each for each in found if each.ca_pem]
    if verified:
        return ServerIdentity(ca_pem=verified[0].ca_pem, server_name=verified[0].host)
    if found:
        problem = (
            f"APIService {found[0].api_service} has no caBundle, or sets insecureSkipTLSVerify: see `tls` in the values of the "
            "adapter's chart"
        )
    else:
        problem = "no APIService of a metrics API points to it"
    raise Unreachable(
        f"the {adapter} would receive your credentials, but its certificate cannot be verified: {problem}. {SKIP}"
    )


async def identity_of_scaler(session: Session, scaler: RunningProgram) -> ServerIdentity:
    """By the certificates that its pods have published. Raises `Unreachable` with the fix if there are none."""
    refused = f"the {scaler} would receive your credentials, but its certificate cannot be verified"
    namespace, _, name = scaler.argument(CERTIFICATE_FLAG).partition("/")
    if not name:
        raise Unreachable(
            f"{refused}: its flag {CERTIFICATE_FLAG}, which the chart sets, is missing: upgrade the release of the scaler chart. {SKIP}"
        )
    names = (quote(each, safe="") for each in (namespace, name))
    try:
        body = await session.client.get("/api/v1/namespaces/{}/configmaps/{}".format(*names))
    except StatusError as error:
        raise Unreachable(
            f"{refused}: {error.message}. You need permission to get the ConfigMap {namespace}/{name}, which the ClusterRole "
            f"{scaler.name}:why of the chart grants. {SKIP}"
        ) from error
    bundle = decoded(body, CertificateConfigMap, what="ConfigMap").data.get(BUNDLE_KEY, "")
    if not bundle.strip():
        raise Unreachable(
            f"{refused}: no pod has published its certificate in the ConfigMap {namespace}/{name} yet; the log of the scaler "
            f"says why. {SKIP}"
        )
    return ServerIdentity(ca_pem=bundle, server_name=LOOPBACK_NAME)
