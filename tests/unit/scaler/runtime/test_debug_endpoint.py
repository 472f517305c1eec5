"""Who may read the last decision on an autoscaler: users who may also get that autoscaler."""

import json

import pytest

from scaler.algorithm.derivation import Derivation
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from scaler.cluster.telemetry import Telemetry
from scaler.runtime.debug_endpoint import scaler_server
from tests.unit.wire.serving.conftest import FakeApiServer, Served
from wire.process.background_tasks import BackgroundTasks
from wire.serving.options import ServingOptions
from wire.serving.server import Delegates

PATH = "/debug/decisions/shop/web"
TOKEN = {"Authorization": "Bearer good"}


def decided(key):
    if key != "shop/web":
        return None
    return Derivation(autoscaler=key, made_at_unix_seconds=0.0, branch="")


@pytest.fixture
async def started(tmp_path):
    """The server over an API server that knows one user, who may get the path."""
    servers = []

    async def start(kind, *allowed):
        api = FakeApiServer({})
        api.users_by_token["good"] = {"username": "jane"}
        telemetry = Telemetry(kind)
        api.allowed = {("jane", PATH), ("jane", "/metrics"), *(("jane", each) for each in allowed)}
        server = scaler_server(
            ServingOptions(
                secure_port=1, bind_address="127.0.0.1", authentication_skip_lookup=True
            ),
            Delegates(api, api),
            registry=telemetry.registry,
            on_refusal=telemetry.count_refusal,
            version="1.2.3",
            ready=(),
            kind=kind,
            derivation=decided,
            metrics_connection=lambda: "through kube-apiserver",
            background=BackgroundTasks(),
        )
        await server.start(port=0)
        servers.append(server)
        return api, Served(server, tmp_path)

    yield start
    for server in servers:
        await server.stop()


@pytest.mark.parametrize(
    "kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS], ids=lambda each: each.plural
)
async def test_the_right_to_the_path_alone_shows_no_decision(started, kind):
    _, served = await started(kind)
    code, body = await served.get(PATH, headers=TOKEN)
    assert code == 403
    message = json.loads(body)["message"]
    assert f'User "jane" cannot get resource "{kind.plural}" in API group "{kind.group}"' in message


async def test_a_user_who_may_get_the_autoscaler_reads_the_decision(started):
    api, served = await started(LOAD_AUTOSCALERS, "loadautoscalers")
    code, body = await served.get(PATH, headers=TOKEN)
    assert (code, json.loads(body)["autoscaler"]) == (200, "shop/web")
    assert json.loads(body)["metrics_connection"] == "through kube-apiserver"
    reviewed = api.reviews[-1]["spec"]["resourceAttributes"]
    assert (reviewed["verb"], reviewed["namespace"], reviewed["name"]) == ("get", "shop", "web")


async def test_other_users_do_not_learn_whether_an_autoscaler_has_a_decision(started):
    api, served = await started(LOAD_AUTOSCALERS)
    api.allowed.add(("jane", "/debug/decisions/shop/none"))
    assert (await served.get("/debug/decisions/shop/none", headers=TOKEN))[0] == 403


async def test_a_client_that_takes_too_much_is_counted_in_the_metrics(started):
    _, served = await started(LOAD_AUTOSCALERS)
    code, _ = await served.get(PATH, headers={**TOKEN, "X-1": "a" * 1_100_000})
    assert code == 431
    code, text = await served.get("/metrics", headers=TOKEN)
    assert code == 200
    assert 'loadline_scaler_client_refusals_total{reason="headers"} 1.0' in text
