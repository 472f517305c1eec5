"""The server with a real kube-apiserver: reviews, RBAC, and the front proxy's certificate."""

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from prometheus_client import CollectorRegistry

from testbed.certificates import Authority
from testbed.cluster import Cluster
from tests.process.wire.conftest import until
from wire.kube.client import KubeClient
from wire.kube.connection import connect
from wire.serving.options import ServingOptions
from wire.serving.server import Delegates, Server

RBAC = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: server, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: wire-server-delegates}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:auth-delegator}
subjects: [{kind: ServiceAccount, name: server, namespace: default}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: wire-server-reads-authentication, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: server, namespace: default}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: scraper, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: wire-scraper}
rules: [{nonResourceURLs: [/metrics], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: wire-scraper}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: wire-scraper}
subjects:
- {kind: ServiceAccount, name: scraper, namespace: default}
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}
"""


class Client:
    """Requests to the server under test."""

    def __init__(self, server: Server) -> None:
        self.server = server

    async def get(
        self,
        path: str,
        *,
        pair: tuple[Path, Path] | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, str]:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if pair is not None:
            tls.load_cert_chain(*pair)
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
            session.get(f"https://127.0.0.1:{self.server.port}{path}", headers=headers) as answer,
        ):
            return answer.status, await answer.text()


@pytest.fixture(scope="module")
def rbac(control_plane: Cluster) -> None:
    control_plane.apply(RBAC)


@pytest.fixture
async def served(control_plane: Cluster, rbac: None) -> AsyncIterator[Client]:
    """A server with the rights of a ServiceAccount; without caches, so that changed rights have effect at once."""
    kubeconfig = control_plane.kubeconfig_for_service_account("default", "server")
    client = KubeClient(await connect(kubeconfig, user_agent="test/1"))
    options = ServingOptions(
        secure_port=1,
        bind_address="127.0.0.1",
        authorization_allowed_cache_seconds=0,
        authorization_denied_cache_seconds=0,
    )
    server = Server(
        options, Delegates(client, client), registry=CollectorRegistry(), version="1.0.0"
    )
    await server.start(port=0)
    await until(lambda: not server.health.problems(), what="ready")
    yield Client(server)
    await server.stop()
    await client.close()


def token_of(control_plane: Cluster, account: str) -> dict[str, str]:
    token = control_plane.token("default", account)
    return {"Authorization": f"Bearer {token}"}


def pair_of(control_plane: Cluster, user: str, folder: Path, *groups: str) -> tuple[Path, Path]:
    """A client certificate of the cluster's own CA."""
    configuration = yaml.safe_load(control_plane.kubeconfig_for(user, groups).read_text())
    credentials = configuration["users"][0]["user"]
    paths = folder / f"{user}.crt", folder / f"{user}.key"
    for path, field in zip(paths, ("client-certificate-data", "client-key-data"), strict=True):
        path.write_bytes(base64.b64decode(credentials[field]))
    return paths


async def test_tokens_are_reviewed_and_rbac_decides(control_plane, served):
    scraper = token_of(control_plane, "scraper")
    assert (await served.get("/metrics", headers=scraper))[0] == 200
    code, body = await served.get("/version", headers=token_of(control_plane, "server"))
    assert code == 200, "system:public-info-viewer lets every authenticated user read the version"
    code, body = await served.get("/metrics", headers=token_of(control_plane, "server"))
    assert code == 403
    assert json.loads(body)["message"] == (
        'forbidden: User "system:serviceaccount:default:server" cannot get path "/metrics"'
    )


async def test_an_unknown_token_is_401(served):
    assert (await served.get("/metrics", headers={"Authorization": "Bearer x.y.z"}))[0] == 401


async def test_the_aggregator_passes_on_the_user(control_plane, served):
    pair = (control_plane.front_proxy_certificate_path, control_plane.front_proxy_key_path)
    alice, eve = {"X-Remote-User": "alice"}, {"X-Remote-User": "eve"}
    assert (await served.get("/metrics", pair=pair, headers=alice))[0] == 200
    assert (await served.get("/metrics", pair=pair, headers=eve))[0] == 403
    assert (await served.get("/metrics", headers=alice))[0] == 403, (
        "the headers count only with the aggregator's certificate"
    )


async def test_a_client_certificate_of_the_cluster_authenticates_its_user(
    control_plane, served, tmp_path
):
    pair = pair_of(control_plane, "alice", tmp_path)
    assert (await served.get("/metrics", pair=pair))[0] == 200
    admin = pair_of(control_plane, "root", tmp_path, "system:masters")
    assert (await served.get("/metrics", pair=admin))[0] == 200


async def test_a_client_certificate_of_the_cluster_is_not_a_front_proxy(
    control_plane, served, tmp_path
):
    pair = pair_of(control_plane, "front-proxy-client", tmp_path)
    assert (await served.get("/metrics", pair=pair, headers={"X-Remote-User": "alice"}))[0] == 403


@pytest.mark.deviation("unknown-client-authorities")
async def test_a_certificate_of_an_unknown_ca_fails_the_handshake(served, tmp_path):
    pair = Authority("unknown").client("alice").write(tmp_path, "unknown")
    with pytest.raises(aiohttp.ClientError):
        await served.get("/metrics", pair=pair)


async def test_it_recovers_after_an_outage_of_the_api_server(control_plane, served):
    scraper = token_of(control_plane, "scraper")
    control_plane.stop_component("kube-apiserver")
    code, body = await served.get("/metrics", headers=scraper)
    assert (code, json.loads(body)["reason"]) == (503, "ServiceUnavailable")
    assert (await served.get("/healthz"))[0] == 200
    await asyncio.to_thread(control_plane.start_apiserver)
    assert (await served.get("/metrics", headers=scraper))[0] == 200
