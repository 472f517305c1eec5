"""When metrics are requested from the adapter directly: by the APIServices, and while the connection works."""

import asyncio
import base64

import pytest

from scaler.cluster.telemetry import Telemetry
from scaler.runtime.adapter_connection import AGE_SECONDS_MAX, AdapterConnection
from scaler.runtime.adapter_options import AdapterOptions
from tests.unit.wire.kube.test_cache import STAY, ScriptedServer, event, page
from wire.api.status import Unavailable, service_unavailable
from wire.kube.connection import ConnectionConfigError

CUSTOM = ("custom.metrics.k8s.io", "v1beta2")
EXTERNAL = ("external.metrics.k8s.io", "v1beta1")
CA = b"-----BEGIN CERTIFICATE-----\n"


def api_service(group, version, *, service="monitoring/adapter", ca=CA, **spec):
    namespace, name = service.split("/")
    return {
        "metadata": {"name": f"{version}.{group}", "resourceVersion": "5"},
        "spec": {
            "service": {"namespace": namespace, "name": name, "port": 8443},
            "caBundle": base64.b64encode(ca).decode(),
            **spec,
        },
    }


class Adapter:
    """One client of the adapter."""

    def __init__(self, connected):
        self.connected, self.is_closed = connected, False

    async def get(self, path, params=None, *, accept=""):
        assert path == "/readyz"
        if self.connected.failure:
            raise self.connected.failure
        return b"ok"

    async def close(self):
        self.is_closed = True


class Connected:
    """An `AdapterConnection` over prepared APIServices, which runs until the end of the test."""

    def __init__(self, *script, url=""):
        self.server = ScriptedServer(*script, [STAY])
        self.failure = None
        self.seconds = 1000.0
        self.addresses, self.clients = [], []
        self.telemetry = Telemetry()
        self.connection = AdapterConnection(
            self.server,
            AdapterOptions(service=("monitoring", "adapter"), url=url),
            self.telemetry,
            connect=self.connect,
            monotonic=lambda: self.seconds,
        )
        self.task = asyncio.create_task(self.connection.run())

    async def connect(self, address):
        self.addresses.append(address)
        if isinstance(self.failure, ConnectionConfigError):
            raise self.failure
        self.clients.append(Adapter(self))
        return self.clients[-1]

    async def settled(self):
        await self.server.exhausted.wait()
        for _ in range(50):
            await asyncio.sleep(0)

    def serves(self, served):
        return self.connection.reader(*served) is not None

    @property
    def gauge(self):
        return self.telemetry.registry.get_sample_value("loadline_scaler_direct_connection")


@pytest.fixture
async def connected():
    made = []

    def make(*script, **options):
        made.append(Connected(*script, **options))
        return made[-1]

    yield make
    for each in made:
        each.task.cancel()
        await asyncio.gather(each.task, return_exceptions=True)


async def test_only_the_groups_that_kube_apiserver_forwards_to_the_service_are_requested_directly(
    connected,
):
    other = api_service(*EXTERNAL, service="keda/keda-operator-metrics-apiserver")
    made = connected(page(api_service(*CUSTOM), other, version=5))
    assert not made.serves(CUSTOM), "the APIServices are not known yet"
    await made.settled()
    assert made.serves(CUSTOM)
    assert not made.serves(EXTERNAL), "KEDA serves it"
    assert not made.serves(("metrics.k8s.io", "v1beta1")), "nothing serves it"
    assert made.gauge == 1


async def test_the_address_and_the_ca_are_those_of_the_apiservice(connected):
    made = connected(page(api_service(*CUSTOM), version=5))
    await made.settled()
    (address,) = made.addresses
    assert address.url == "https://adapter.monitoring.svc:8443"
    assert address.server_hostname == "adapter.monitoring.svc"
    assert address.ca_pem == CA.decode()


async def test_outside_the_cluster_the_url_differs_and_the_verified_name_does_not(connected):
    made = connected(page(api_service(*CUSTOM), version=5), url="https://localhost:6443")
    await made.settled()
    (address,) = made.addresses
    assert (address.url, address.server_hostname) == (
        "https://localhost:6443",
        "adapter.monitoring.svc",
    )


@pytest.mark.parametrize(
    "registered",
    [
        pytest.param([], id="no APIService"),
        pytest.param([api_service(*CUSTOM, service="other/adapter")], id="another Service"),
        pytest.param([api_service(*CUSTOM, ca=b"")], id="no CA"),
        pytest.param([api_service(*CUSTOM, insecureSkipTLSVerify=True)], id="not verified"),
    ],
)
async def test_no_token_is_sent_to_a_server_that_cannot_be_verified(connected, registered):
    made = connected(page(*registered, version=5))
    await made.settled()
    assert made.addresses == []
    assert not made.serves(CUSTOM)
    assert made.gauge == 0


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(ConnectionConfigError("the kubeconfig has `as`"), id="credentials"),
        pytest.param(Unavailable("certificate verify failed"), id="certificate"),
        pytest.param(service_unavailable("not ready"), id="not ready"),
    ],
)
async def test_an_adapter_that_fails_the_check_is_not_used(connected, failure, caplog):
    made = connected(page(api_service(*CUSTOM), version=5))
    made.failure = failure
    await made.settled()
    assert not made.serves(CUSTOM)
    assert "metrics are read through kube-apiserver" in caplog.text


async def test_after_a_failed_request_nothing_is_sent_directly_before_the_next_check(connected):
    made = connected(page(api_service(*CUSTOM), version=5))
    await made.settled()
    made.connection.failed(Adapter(made), "an earlier connection")
    assert made.serves(CUSTOM)
    made.connection.failed(made.clients[-1], "connection reset")
    assert not made.serves(CUSTOM)


async def test_a_renewed_ca_leads_to_a_new_connection(connected):
    renewed = api_service(*CUSTOM, ca=CA + b"renewed")
    made = connected(page(api_service(*CUSTOM), version=5), [event("MODIFIED", renewed), STAY])
    await made.settled()
    assert [each.ca_pem for each in made.addresses][-1] == (CA + b"renewed").decode()
    assert made.serves(CUSTOM)
    assert [each.is_closed for each in made.clients[:-1]] == [True] * (len(made.clients) - 1)


async def test_a_group_that_moves_to_another_service_is_no_longer_requested_directly(connected):
    moved = api_service(*CUSTOM, service="keda/adapter")
    made = connected(page(api_service(*CUSTOM), version=5), [event("MODIFIED", moved), STAY])
    await made.settled()
    assert not made.serves(CUSTOM)


async def test_apiservices_that_kube_apiserver_has_not_confirmed_are_not_relied_on(connected):
    made = connected(page(api_service(*CUSTOM), version=5))
    await made.settled()
    made.seconds += AGE_SECONDS_MAX + 1
    assert not made.serves(CUSTOM)
