"""What the page reads from Prometheus, and what it shows without one."""

import json
import time
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kubectl_loadline.page.collected import Collected
from kubectl_loadline.page.series import History
from kubectl_loadline.status.row import Row
from scaler.api.kinds import LOAD_AUTOSCALERS


def row(name):
    return Row(kind="la", namespace="shop", name=name, target="Deployment/web", min=1, max=9, current=3, desired=4)  # fmt: skip


class Prometheus:
    """Serves prepared series at the times that are requested, and records the queries."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.queries: list[str] = []

    async def range(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.queries.append(str(form["query"]))
        start, end, step = (float(str(form[each])) for each in ("start", "end", "step"))
        times = [start + n * step for n in range(int((end - start) / step) + 1)]
        labels = {
            "__name__": "loadline_scaler_autoscaler_status_current_replicas",
            "namespace": "shop",
        }
        result = [
            {"metric": {**labels, "name": name}, "values": [[at, "5"] for at in times]}
            for name in self.names
        ]
        return web.json_response({"status": "success", "data": {"result": result}})


@pytest.fixture
async def prometheus() -> AsyncIterator[tuple[Prometheus, str]]:
    found = Prometheus()
    app = web.Application()
    app.router.add_post("/api/v1/query_range", found.range)
    async with TestServer(app, host="127.0.0.1") as server:
        yield found, str(server.make_url("/")).rstrip("/")


def history(url, *rows):
    """No session: the URL names no Service of a cluster."""
    collected = Collected(time.time() - 600)
    for each in rows:
        collected.note(each, time.time() - 300)
    return History(None, collected, url=url, adapter="")


async def test_the_rows_of_a_table_are_read_by_one_query_and_not_again_at_its_next_refresh(
    prometheus,
):
    server, url = prometheus
    server.names = ["web", "mail"]
    found = history(url)
    first = await found.last_hours([row("web"), row("mail")])
    assert first.counts["la/shop/web"] == (5.0,) * 61
    assert await found.last_hours([row("web"), row("mail")]) == first
    assert len(server.queries) == 1
    server.names = ["cart"]
    more = await found.last_hours([row("web"), row("cart")])
    assert more.counts["la/shop/cart"] == (5.0,) * 61
    assert len(server.queries) == 2
    assert "web" not in server.queries[1]


async def test_a_row_that_was_not_recorded_has_what_the_page_has_seen(prometheus):
    _, url = prometheus
    web_row = row("web")
    counts = (await history(url, web_row).last_hours([web_row])).counts["la/shop/web"]
    assert counts[0] is None
    assert counts[-1] == 3.0


async def test_without_prometheus_the_table_says_since_when_it_knows_the_counts():
    found = history("http://127.0.0.1:1", row("web"))
    hours = await found.last_hours([row("web"), row("mail")])
    assert hours.basis.startswith("Current replicas that this page has observed since ")
    assert "Before that, they are not known: Prometheus cannot be read" in hours.basis
    assert hours.counts["la/shop/web"][-1] == 3.0
    assert set(hours.counts["la/shop/mail"]) == {None}


async def test_a_chart_has_what_was_recorded_else_what_the_page_and_the_status_know(prometheus):
    server, url = prometheus
    step = {
        "replicas": 7,
        "sinceUnixSeconds": time.time() - 100,
        "untilUnixSeconds": time.time() - 50,
    }
    body = json.dumps({"status": {"history": {"recommendations": [step]}}}).encode()
    found = history(url, row("web"))
    seen = await found.chart(LOAD_AUTOSCALERS, row("web"), body, 1)
    assert set(seen.current) == {3.0}
    assert 7.0 in seen.demand
    assert "not available: Prometheus has no metrics of the scaler for it." in seen.basis
    server.names = ["web"]
    recorded = await found.chart(LOAD_AUTOSCALERS, row("web"), body, 1)
    assert set(recorded.current) == {5.0}
    assert recorded.basis == "Recorded by Prometheus, one sample per 15 s."
