"""What Prometheus has recorded for an autoscaler."""

import promql_parser
import pytest
from aiohttp import web

from kubectl_loadline.status.recorded_replicas import (
    CURRENT,
    DESIRED,
    recorded,
    replicas_query,
    step_for,
)
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS
from wire.api.status import Unavailable


@pytest.mark.parametrize(
    "kind", [LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS], ids=lambda k: k.kind
)
@pytest.mark.parametrize("which", [CURRENT, DESIRED])
def test_the_query_is_valid_also_for_an_unusual_name(kind, which):
    query = replicas_query(kind, which, "shop", 'we"b\\')
    promql_parser.parse(query)
    assert f"loadline_scaler_autoscaler_status_{which}_replicas" in query


def test_the_namespace_may_have_been_renamed_by_the_scrape():
    query = replicas_query(LOAD_AUTOSCALERS, DESIRED, "shop", "web")
    assert 'exported_namespace="shop"' in query
    assert 'namespace="shop",exported_namespace=""' in query
    assert "kube_loadautoscaler_status_desired_replicas{" in query


@pytest.mark.parametrize(("seconds", "expected"), [(60, 15), (86_400, 45), (14 * 86_400, 615)])
def test_the_step_limits_the_number_of_samples(seconds, expected):
    assert step_for(seconds) == expected
    assert seconds / step_for(seconds) <= 2_000


class Prometheus:
    """The response to give, and the form of the last request."""

    def __init__(self) -> None:
        self.answer: web.Response = web.json_response({})
        self.form: dict[str, object] = {}
        self.url = ""

    async def respond(self, request: web.Request) -> web.Response:
        self.form = dict(await request.post())
        return self.answer


@pytest.fixture
async def prometheus():
    server = Prometheus()
    app = web.Application()
    app.router.add_post("/prefix/api/v1/query_range", server.respond)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/prefix/"
    yield server
    await runner.cleanup()


async def test_the_values_of_all_series_by_time(prometheus):
    result = [{"metric": {}, "values": [[15.0, "3"], [30.0, "NaN"]]}, {"values": [[45.0, "4"]]}]
    prometheus.answer = web.json_response({"status": "success", "data": {"result": result}})
    assert await recorded(prometheus.url, "up", start=15, end=45, step=15) == {15.0: 3.0, 45.0: 4.0}
    assert prometheus.form == {
        "query": "up",
        "start": "15",
        "end": "45",
        "step": "15",
        "timeout": "30s",
    }


async def test_the_reason_of_a_refusal_is_that_of_prometheus(prometheus):
    prometheus.answer = web.json_response(
        {"status": "error", "errorType": "execution", "error": "too many"}, status=422
    )
    with pytest.raises(Unavailable, match="execution: too many"):
        await recorded(prometheus.url, "up", start=15, end=45, step=15)


async def test_another_server_is_not_taken_for_prometheus(prometheus):
    prometheus.answer = web.Response(text="<html>")
    with pytest.raises(Unavailable, match="not Prometheus'"):
        await recorded(prometheus.url, "up", start=15, end=45, step=15)
