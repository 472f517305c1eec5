"""Replicas that share a certificate in a Secret of a real API server, and let APIServices trust it."""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from adapter.certificates.managed_certificate import (
    ManagedCertificate,
    ManagedCertificateOptions,
    ManagedCertificateTimes,
)
from testbed.waiting import holds
from tests.process.wire.conftest import until
from wire.kube.client import KubeClient
from wire.kube.connection import connect
from wire.serving.certificates import Pair

QUICK = ManagedCertificateTimes(settle_seconds=0.3, check_seconds=0.2)
GROUP = "managed.example.com"
API = f"v1.{GROUP}"
OTHER = "v1.other.example.com"


class Replica:
    """One of several programs that serve the certificate."""

    def __init__(
        self, client: KubeClient, options: ManagedCertificateOptions, trusted: Callable[[], bytes]
    ) -> None:
        self.served: list[Pair] = []
        self.trusted_when_served: list[bytes] = []
        self._trusted = trusted
        self.certificate = ManagedCertificate(client, options, times=QUICK)
        self.task = asyncio.create_task(self.certificate.run(self._serve))

    def _serve(self, pair: Pair) -> None:
        self.served.append(pair)
        self.trusted_when_served.append(self._trusted())

    async def stop(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


class Site:
    """A Secret, a Service and two APIServices, one of which leads to another program."""

    def __init__(self, cluster, namespace: str, client: KubeClient) -> None:
        self.cluster, self.namespace, self.client = cluster, namespace, client
        self.replicas: list[Replica] = []

    def start(self, client: KubeClient | None = None) -> Replica:
        options = ManagedCertificateOptions(
            secret=(self.namespace, "cert"),
            service=(self.namespace, "adapter"),
            api_services=(API, OTHER),
        )
        self.replicas.append(Replica(client or self.client, options, self.bundle))
        return self.replicas[-1]

    def register(self, name: str, *, service: str, **trust) -> None:
        version, _, group = name.partition(".")
        spec = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"name": service, "namespace": self.namespace},
        }
        self.cluster.apply(
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": name},
                "spec": spec | trust,
            }
        )

    def spec(self, name: str = API) -> dict:
        return self.cluster.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")["spec"]

    def bundle(self, name: str = API) -> bytes:
        return base64.b64decode(self.spec(name).get("caBundle") or "")

    def patch(self, what: str, change: dict) -> None:
        self.cluster.kubectl(
            "patch", what, f"-n{self.namespace}", "--type=merge", f"--patch={msgspec.json.encode(change).decode()}"
        )  # fmt: skip

    def create_secret(self) -> None:
        self.cluster.kubectl("create", "secret", "generic", "cert", f"-n{self.namespace}")

    async def all_serve_one_trusted_certificate(self, *, except_for: Pair | None = None) -> Pair:
        def agreed() -> bool:
            served = {replica.served[-1].certificate for replica in self.replicas if replica.served}
            assert len(served) == 1
            assert all(replica.served for replica in self.replicas)
            (certificate,) = served
            assert except_for is None or certificate != except_for.certificate
            assert certificate in self.bundle()
            assert not any(replica.certificate.problem for replica in self.replicas)
            return True

        await until(agreed, what="one certificate of all replicas, which is trusted")
        return self.replicas[0].served[-1]


@pytest.fixture
async def site(control_plane, folder, client) -> AsyncIterator[Site]:
    site = Site(control_plane, folder, client)
    yield site
    for replica in site.replicas:
        await replica.stop()
    control_plane.kubectl("delete", "apiservice", API, OTHER, "--ignore-not-found")


@pytest.fixture
def prepared(site: Site) -> Site:
    site.create_secret()
    site.register(API, service="adapter")
    return site


async def test_two_replicas_that_start_together_serve_one_certificate(prepared):
    for _ in range(2):
        prepared.start()
    pair = await prepared.all_serve_one_trusted_certificate()
    assert prepared.bundle() == pair.certificate
    assert not prepared.spec().get("insecureSkipTLSVerify")
    later = prepared.start()
    await prepared.all_serve_one_trusted_certificate()
    assert later.served == [pair]


async def test_a_renewed_certificate_is_served_after_it_is_trusted_beside_the_former_one(prepared):
    replicas = [prepared.start(), prepared.start()]
    former = await prepared.all_serve_one_trusted_certificate()
    prepared.patch("secret/cert", {"data": None})
    renewed = await prepared.all_serve_one_trusted_certificate(except_for=former)
    for replica in replicas:
        assert replica.served == [former, renewed]
        assert replica.trusted_when_served[-1] == renewed.certificate + former.certificate
    assert prepared.bundle() == renewed.certificate + former.certificate


async def test_a_replica_that_starts_during_a_renewal_is_trusted_as_well(prepared):
    prepared.start()
    former = await prepared.all_serve_one_trusted_certificate()
    prepared.patch("secret/cert", {"data": None})
    prepared.start()
    renewed = await prepared.all_serve_one_trusted_certificate(except_for=former)
    assert prepared.bundle() == renewed.certificate + former.certificate


async def test_what_was_removed_from_the_registration_is_written_again(prepared):
    replica = prepared.start()
    pair = await prepared.all_serve_one_trusted_certificate()
    prepared.patch(f"apiservice/{API}", {"spec": {"caBundle": None}})
    await until(lambda: prepared.bundle() == pair.certificate, what="the caBundle")
    await prepared.all_serve_one_trusted_certificate()
    assert replica.served == [pair]


async def test_a_registration_that_skips_the_verification_stays_so(site):
    """Helm would not set the field again at a rollback."""
    site.create_secret()
    site.register(API, service="adapter", insecureSkipTLSVerify=True)
    replica = site.start()
    await until(lambda: replica.served, what="a certificate")
    before = site.spec()
    await asyncio.to_thread(holds, lambda: site.spec() == before, seconds=1)
    assert not replica.certificate.problem
    site.patch(f"apiservice/{API}", {"spec": {"insecureSkipTLSVerify": False}})
    await until(lambda: site.bundle() == replica.served[0].certificate, what="the caBundle")


async def test_a_registration_of_another_program_is_not_touched(prepared):
    prepared.register(OTHER, service="keda", insecureSkipTLSVerify=True)
    prepared.start()
    await prepared.all_serve_one_trusted_certificate()
    before = prepared.spec(OTHER)
    await asyncio.to_thread(holds, lambda: prepared.spec(OTHER) == before, seconds=1)


async def test_what_was_trusted_before_stays_trusted_beside_the_new_certificate(site):
    """The pods of the previous revision serve a certificate of cert-manager until they are replaced."""
    former = Pair(site.cluster.authority, b"")
    site.create_secret()
    site.register(API, service="adapter", caBundle=base64.b64encode(former.certificate).decode())
    site.start()
    pair = await site.all_serve_one_trusted_certificate()
    assert site.bundle() == pair.certificate + former.certificate


async def test_without_a_secret_the_replica_is_not_ready_and_says_who_creates_it(site):
    site.register(API, service="adapter")
    replica = site.start()
    await until(
        lambda: (
            "Secret" in replica.certificate.problem
            and "helm upgrade" in replica.certificate.problem
        ),
        what="the problem",
    )
    site.create_secret()
    await site.all_serve_one_trusted_certificate()


async def test_without_permission_to_patch_the_problem_names_the_object(prepared, control_plane):
    reader = f"system:serviceaccount:{prepared.namespace}:default"
    control_plane.kubectl(
        "create", "clusterrole", prepared.namespace, "--verb=list,watch",
        "--resource=secrets,apiservices.apiregistration.k8s.io",
    )  # fmt: skip
    control_plane.kubectl(
        "create", "clusterrolebinding", prepared.namespace, f"--clusterrole={prepared.namespace}", f"--user={reader}"
    )  # fmt: skip
    identity = control_plane.kubeconfig_for_service_account(prepared.namespace, "default")
    client = KubeClient(await connect(identity, user_agent="test/1"))
    try:
        replica = prepared.start(client)
        await until(
            lambda: 'cannot patch resource "secrets"' in replica.certificate.problem,
            what="the problem",
        )
        await replica.stop()
    finally:
        await client.close()
        control_plane.kubectl("delete", "clusterrole,clusterrolebinding", prepared.namespace)
