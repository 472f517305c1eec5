"""When metrics are requested from an adapter directly: by the APIServices, and while the connection works."""

import asyncio
import base64
import json

import pytest

from scaler.cluster.telemetry import Telemetry
from scaler.runtime.adapter_connection import AdapterConnections
from scaler.runtime.adapter_options import AdapterOptions
from scaler.runtime.metrics_services import AGE_SECONDS_MAX
from tests.fakes import virtual_time
from tests.unit.wire.kube.test_cache import STAY, ScriptedServer, event, page
from wire.api.offers import EXPLAIN, METRIC_STREAM
from wire.api.status import Unavailable, forbidden, service_unavailable, unauthorized
from wire.kube.cluster_access import ConnectionConfigError

CUSTOM = ("custom.metrics.k8s.io", "v1beta2")
EXTERNAL = ("external.metrics.k8s.io", "v1beta1")
CA = b"-----BEGIN CERTIFICATE-----\n"
KEDA = "keda/keda-operator-metrics-apiserver"
NAMED = AdapterOptions(service=("monitoring", "adapter"))
TOKENS = AdapterOptions(token_account=("scaling", "metrics-reader"))


def api_service(group, version, *, service="monitoring/adapter", ca=CA, is_available=True, **spec):
    namespace, name = service.split("/")
    available = {"type": "Available", "status": "True" if is_available else "False"}
    return {
        "metadata": {"name": f"{version}.{group}", "resourceVersion": "5"},
        "spec": {
            "service": {"namespace": namespace, "name": name, "port": 8443},
            "caBundle": base64.b64encode(ca).decode(),
            **spec,
        },
        "status": {"conditions": [available]},
    }


class LiveServer(ScriptedServer):
    """After the script, it sends the events that a test adds."""

    def __init__(self, *script):
        super().__init__(*script)
        self.events = asyncio.Queue()

    async def watch(self, path, params=None, **more):
        if len(self.script) > 1:
            async for line in super().watch(path, params, **more):
                yield line
        more["on_accepted"]()
        self.exhausted.set()
        while True:
            yield await self.events.get()


class Adapter:
    """One client of an adapter."""

    def __init__(self, connected, address, audience):
        self.connected, self.address, self.audience = connected, address, audience
        self.is_closed = False

    async def get(self, path, params=None, *, accept=""):
        self.connected.requested.append(path)
        if self.connected.failure:
            raise self.connected.failure
        if self.audience not in self.connected.accepted_audiences:
            raise unauthorized()
        if path == "/version" and self.connected.hides_version:
            raise forbidden("no")
        if path == "/version":
            return json.dumps(
                {"gitVersion": "v1", "offers": self.connected.offers_of(self.address)}
            ).encode()
        assert path == "/readyz"
        return b"ok"

    async def close(self):
        self.is_closed = True


class Connected:
    """`AdapterConnections` over prepared APIServices, which run until the end of the test."""

    def __init__(self, *script, options=NAMED, offers=()):
        self.server = LiveServer(*script, [STAY])
        self.failure = None
        self.hides_version = False
        self.offers_of = lambda _: list(offers)
        self.accepted_audiences = {"adapter.monitoring.svc", ""}
        self.seconds = 1000.0
        self.addresses, self.clients, self.requested = [], [], []
        self.telemetry = Telemetry()
        self.connection = AdapterConnections(
            self.server,
            options,
            self.telemetry,
            connect=self.connect,
            monotonic=lambda: self.seconds,
        )
        self.task = asyncio.create_task(self.connection.run())

    async def connect(self, address, audience):
        self.addresses.append(address)
        if isinstance(self.failure, ConnectionConfigError | ValueError):
            raise self.failure
        self.clients.append(Adapter(self, address, audience))
        return self.clients[-1]

    async def settled(self):
        await self.server.exhausted.wait()
        for _ in range(50):
            await asyncio.sleep(0)

    def serves(self, served):
        return self.connection.reader(*served) is not None

    def gauge(self, service="monitoring/adapter"):
        name = "loadline_scaler_direct_connection"
        return self.telemetry.registry.get_sample_value(name, {"service": service})


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
    other = api_service(*EXTERNAL, service=KEDA)
    made = connected(page(api_service(*CUSTOM), other, version=5))
    assert not made.serves(CUSTOM), "the APIServices are not known yet"
    await made.settled()
    assert made.serves(CUSTOM)
    assert not made.serves(EXTERNAL), "KEDA serves it, and the options name another Service"
    assert not made.serves(("metrics.k8s.io", "v1beta1")), "nothing serves it"
    assert made.gauge() == 1


async def test_the_address_and_the_ca_are_those_of_the_apiservice(connected):
    made = connected(page(api_service(*CUSTOM), version=5))
    await made.settled()
    (address,) = made.addresses
    assert address.url == "https://adapter.monitoring.svc:8443"
    assert address.server_hostname == "adapter.monitoring.svc"
    assert address.ca_pem == CA.decode()


async def test_outside_the_cluster_the_url_differs_and_the_verified_name_does_not(connected):
    made = connected(
        page(api_service(*CUSTOM), version=5), options=AdapterOptions(url="https://localhost:6443")
    )
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
    assert not made.gauge()


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(ConnectionConfigError("the kubeconfig has `as`"), id="credentials"),
        pytest.param(Unavailable("certificate verify failed"), id="certificate"),
        pytest.param(service_unavailable("not ready"), id="not ready"),
        pytest.param(ValueError("cadata should be an ASCII string"), id="garbage as caBundle"),
    ],
)
async def test_an_adapter_that_fails_the_check_is_not_used(connected, failure, caplog):
    made = connected(page(api_service(*CUSTOM), version=5))
    made.failure = failure
    await made.settled()
    assert not made.serves(CUSTOM)
    assert made.connection.direct_services() == ()
    assert "metrics are read through kube-apiserver" in caplog.text


async def test_after_a_failed_request_nothing_is_sent_directly_before_the_next_check(connected):
    made = connected(page(api_service(*CUSTOM), version=5))
    await made.settled()
    made.connection.failed(Adapter(made, None, ""), "an earlier connection")
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


async def test_every_adapter_is_read_directly_by_default(connected):
    other = api_service(*EXTERNAL, service=KEDA)
    made = connected(page(api_service(*CUSTOM), other, version=5), options=TOKENS)
    await made.settled()
    assert made.connection.reader(*CUSTOM).address.service == ("monitoring", "adapter")
    assert made.connection.reader(*EXTERNAL).address.service_name == KEDA
    assert (made.gauge(), made.gauge(KEDA)) == (1, 1)
    assert made.connection.problem() is None
    assert made.connection.direct_services() == tuple(sorted(("monitoring/adapter", KEDA)))


async def test_an_adapter_that_reviews_tokens_as_kube_apiserver_gets_one_for_kube_apiserver(
    connected,
):
    other = api_service(*EXTERNAL, service=KEDA)
    made = connected(page(api_service(*CUSTOM), other, version=5), options=TOKENS)
    await made.settled()
    assert made.connection.reader(*CUSTOM).audience == "adapter.monitoring.svc"
    assert made.connection.reader(*EXTERNAL).audience == ""
    assert [each.audience for each in made.clients if each.is_closed] == [
        "keda-operator-metrics-apiserver.keda.svc"
    ], "a token for this Service alone is tried before"


async def test_only_the_scaler_with_a_token_account_sends_tokens_for_kube_apiserver(connected):
    made = connected(
        page(api_service(*EXTERNAL, service=KEDA), version=5), options=AdapterOptions()
    )
    await made.settled()
    assert {each.audience for each in made.clients} == {"keda-operator-metrics-apiserver.keda.svc"}
    assert not made.serves(EXTERNAL)


async def test_a_token_that_no_adapter_accepts_is_reported_with_what_it_needs(connected, caplog):
    made = connected(page(api_service(*CUSTOM), version=5), options=TOKENS)
    made.accepted_audiences.clear()
    await made.settled()
    assert not made.serves(CUSTOM)
    assert "system:auth-delegator" in made.connection.problem()
    assert caplog.text.count("metrics are read through kube-apiserver") == 1


async def test_only_an_adapter_that_offers_it_streams_and_explains(connected):
    offers = [METRIC_STREAM, EXPLAIN, "loadline.io/metric-stream/v2"]
    made = connected(page(api_service(*CUSTOM), version=5), options=TOKENS, offers=offers)
    await made.settled()
    assert made.connection.streaming() is made.connection.explaining() is made.clients[-1]


@pytest.mark.parametrize("offers", [(), ("loadline.io/metric-stream/v2",)], ids=["none", "newer"])
async def test_an_adapter_without_a_known_offer_is_read_and_does_not_stream(connected, offers):
    made = connected(page(api_service(*CUSTOM), version=5), options=TOKENS, offers=offers)
    await made.settled()
    assert made.serves(CUSTOM)
    assert made.connection.streaming() is None
    assert made.connection.explaining() is None


async def test_an_adapter_may_hide_its_version(connected):
    made = connected(page(api_service(*CUSTOM), version=5))
    made.hides_version = True
    await made.settled()
    assert made.serves(CUSTOM)


async def test_a_service_that_cannot_be_verified_is_named_once_with_the_fix(connected, caplog):
    unverified = api_service(*CUSTOM, insecureSkipTLSVerify=True)
    again = event("MODIFIED", {**unverified, "status": {}})
    made = connected(page(unverified, version=5), [again, STAY], options=TOKENS)
    await made.settled()
    assert caplog.text.count("skips the verification") == 1
    assert "set its caBundle" in made.connection.problem()


async def test_an_apiservice_without_a_service_is_served_by_kube_apiserver_itself(connected):
    local = api_service(*CUSTOM)
    local["spec"]["service"] = None
    made = connected(page(local, version=5), options=TOKENS)
    await made.settled()
    assert made.addresses == []
    assert made.connection.problem() is None


def test_the_pauses_between_attempts_grow_to_two_minutes():
    async def scenario():
        made = Connected(page(api_service(*CUSTOM), version=5))
        made.failure = Unavailable("connection refused")
        await virtual_time.passes(600)
        attempts = len(made.requested)
        await virtual_time.passes(600)
        made.task.cancel()
        return attempts, len(made.requested) - attempts

    first, later = virtual_time.run(scenario())
    assert 8 <= first <= 15
    assert 4 <= later <= 6


def test_when_kube_apiserver_reaches_the_service_again_the_pause_ends():
    async def scenario():
        made = Connected(page(api_service(*CUSTOM, is_available=False), version=5))
        made.failure = Unavailable("connection refused")
        await virtual_time.passes(600)
        made.failure = None
        before = made.serves(CUSTOM)
        made.server.events.put_nowait(event("MODIFIED", api_service(*CUSTOM)))
        await virtual_time.passes(0.1)
        after = made.serves(CUSTOM)
        made.task.cancel()
        return before, after

    assert virtual_time.run(scenario()) == (False, True)


def test_a_connection_that_fails_right_after_each_check_is_not_tried_every_second():
    async def scenario():
        made = Connected(page(api_service(*CUSTOM), version=5))
        for _ in range(600):
            await virtual_time.passes(1)
            if made.serves(CUSTOM):
                made.connection.failed(made.connection.reader(*CUSTOM), "not accepted")
        made.task.cancel()
        return made.requested.count("/readyz")

    assert virtual_time.run(scenario()) < 20


@pytest.mark.parametrize(
    ("offering", "streaming"),
    [
        pytest.param("monitoring", "monitoring", id="the one that offers it"),
        pytest.param("", "a-namespace", id="the first, if none does"),
    ],
)
async def test_with_always_an_adapter_that_offers_the_stream_is_preferred(
    connected, offering, streaming
):
    other = api_service(*EXTERNAL, service="a-namespace/adapter")
    options = AdapterOptions(token_account=("scaling", "reader"), streams="always")
    made = connected(page(api_service(*CUSTOM), other, version=5), options=options)
    made.offers_of = lambda address: [METRIC_STREAM] * (address.service[0] == offering)
    await made.settled()
    assert made.connection.streaming().address.service[0] == streaming
