"""The page over prepared autoscalers: what it shows, that it escapes everything, and which requests it refuses."""

from collections.abc import AsyncIterator

import aiohttp
import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from kubectl_loadline.colours import COLOURS
from kubectl_loadline.decisions.simulated import Simulation, simulate
from kubectl_loadline.page.chart import Chart
from kubectl_loadline.page.deciding import ExplainedDecision
from kubectl_loadline.page.explanations import EXPLANATIONS
from kubectl_loadline.page.guard import new_token
from kubectl_loadline.page.series import LastHours
from kubectl_loadline.page.server import Page, about, ago, amount, values_of
from kubectl_loadline.status.row import LIMITS, Row
from scaler.algorithm.derivation import Derivation, MetricDerivation
from scaler.algorithm.settings import Settings
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.fakes.scaler import FakeMapper, resource
from tests.unit.kubectl_loadline.decisions.test_simulated import NOW_SECONDS, PATH, cluster
from wire.api.status import forbidden, not_found

TOKEN = "token"
EVENTS = "/api/v1/namespaces/shop/events"
EVIL = "<script>alert('x')</script>"
WEB = Row(
    kind="la", namespace="shop", name="web", target="Deployment/web", min=1, max=9, current=3, desired=4,
    limited_by=("window", "metric"), reason=f"goes from 3 to 4 replicas: {EVIL}",
)  # fmt: skip


class FixedAutoscalers:
    """Rows that do not change."""

    namespace = ""
    problem = EVIL

    def __init__(self, *rows: Row) -> None:
        self._rows = {row.key: row for row in rows}

    @property
    def rows(self):
        return self._rows.values()

    def row(self, key):
        return self._rows.get(key)


class FixedDeciding:
    """The simulation is the real one, over a prepared API server."""

    def __init__(self) -> None:
        self.kube = cluster()

    async def object(self, kind, row):
        return await self.kube.get(PATH)

    async def events(self, kind, row):
        return await self.kube.get(EVENTS)

    async def explained(self, kind, row):
        metric = MetricDerivation(type="External", name=EVIL, value_milli=30_000, usage_ratio=1.0, target=EVIL, proposal=3)  # fmt: skip
        derivation = Derivation(autoscaler="shop/web", made_at_unix_seconds=0.0, branch="Metrics", metrics=(metric,), current_replicas=3, desired_replicas=3, winner=0, proposed=3)  # fmt: skip
        return ExplainedDecision(derivation=derivation, source=f"The last decision of {EVIL}.")

    async def simulated(self, kind, row, values, replicas=None):
        simulation = Simulation(
            autoscaler="shop/web", settings=Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True),
            values=values, at_unix_seconds=NOW_SECONDS, replicas=replicas,
        )  # fmt: skip
        mapper = FakeMapper(resource("apps", "v1", "deployments", "Deployment"))
        return await simulate(simulation, self.kube, self.kube, mapper)


class FixedHistory:
    """Records what is requested."""

    def __init__(self) -> None:
        self.hours: list[float] = []
        self.keys: list[list[str]] = []

    async def chart(self, kind, row, body, hours):
        self.hours.append(hours)
        return Chart(start=0.0, end=9.0, times=(1.0,), current=(3.0,), desired=(None,), basis="b")

    async def last_hours(self, rows):
        self.keys.append([row.key for row in rows])
        return LastHours(start=0.0, counts={row.key: (1.0, None) for row in rows}, basis="b")


class Served(msgspec.Struct):
    client: TestClient
    deciding: FixedDeciding
    history: FixedHistory

    async def get(self, path="", **headers):
        response = await self.client.get(f"/{TOKEN}/{path}", headers=headers)
        return response.status, await response.text()


@pytest.fixture
async def page() -> AsyncIterator[Served]:
    deciding, history = FixedDeciding(), FixedHistory()
    app = Page(TOKEN, FixedAutoscalers(WEB), deciding, history).application()
    async with TestClient(TestServer(app, host="127.0.0.1")) as client:
        yield Served(client, deciding, history)


async def test_the_list_has_a_row_with_what_it_wants_and_why(page):
    status, text = await page.get()
    assert status == 200
    assert "1 of 1 autoscalers." in text
    assert "With problems <b>1</b>" in text
    for shown in ("shop/web", "Deployment/web", "1 to 9", EXPLANATIONS["window"]):
        assert shown in text


async def test_the_last_hour_is_of_the_rows_that_the_table_shows(page):
    _, text = await page.get("last-hours")
    assert '"la/shop/web":[1.0,null]' in text
    await page.get("last-hours?text=nothing")
    assert page.history.keys == [["la/shop/web"], []]


@pytest.mark.parametrize(
    "path", ["", "la/shop/web/decision", f"la/shop/web/what-if?value.{EVIL}=1", f"?text={EVIL}"]
)
async def test_text_of_the_cluster_and_of_the_address_is_escaped(page, path):
    _, text = await page.get(path)
    assert "alert" in text
    assert EVIL not in text


async def test_htmx_gets_only_the_table(page):
    assert "<html" not in (await page.get(**{"HX-Request": "true"}))[1]
    restored = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    assert "<html" in (await page.get(**restored))[1]


async def test_a_slider_decides_by_the_functions_of_the_scaler(page):
    _, text = await page.get("la/shop/web/what-if?value.queue=55000&replicas=3")
    assert "Goes from 3 to 6 replicas." in text
    _, text = await page.get("la/shop/web/what-if?value.queue=80000&replicas=1")
    assert "Goes from 1 to 4 replicas" in text
    _, text = await page.get("la/shop/web/what-if?value.queue=80000&fails.queue=1")
    assert "its metric failed" in text
    assert page.deciding.kube.put == []


async def test_a_value_that_cannot_be_decided_is_reported(page):
    status, text = await page.get("la/shop/web/what-if?value.other=1")
    assert status == 200
    assert "unknown metric &#39;other&#39;" in text


async def test_the_decision_has_a_slider_with_the_value_of_now(page):
    _, text = await page.get("la/shop/web/decision")
    assert 'name="value.queue"' in text
    assert 'value="30000"' in text


async def test_one_autoscaler_shows_one_decision_and_not_the_status_of_another_one(page):
    """The row says "goes from 3 to 4", and the decision "stays at 3"."""
    _, text = await page.get("la/shop/web")
    assert "goes from 3 to 4" not in text
    _, text = await page.get("la/shop/web/decision")
    assert "Stays at 3 replicas." in text
    assert "goes from 3 to 4" not in text
    assert "Decided at <time" in text


async def test_events_that_may_not_be_listed_are_reported_beside_the_chart(page):
    page.deciding.kube.answers[EVENTS] = forbidden("events is forbidden")
    _, text = await page.get("la/shop/web/series")
    assert "Its events cannot be listed: events is forbidden." in text
    event = {"type": "Warning", "reason": "FailedGetScale", "message": EVIL, "lastTimestamp": "1970-01-01T00:00:05Z"}  # fmt: skip
    page.deciding.kube.serve(EVENTS, {"items": [event]})
    _, text = await page.get("la/shop/web/series")
    assert '"reason":"FailedGetScale"' in text
    assert "cannot be listed" not in text


async def test_the_colours_are_those_of_all_pictures(page):
    _, text = await page.get("colours.css")
    for name, colour in COLOURS.items():
        assert f"--{name}: {colour.light};" in text
        assert f"--{name}: {colour.dark};" in text


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-1, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7199, "1 h ago"), (200_000, "2 d ago")],
)
def test_an_age_has_the_largest_unit_that_fits(seconds, expected):
    assert ago(seconds) == expected


async def test_an_autoscaler_that_was_deleted_meanwhile_is_a_404(page):
    assert (await page.get("la/shop/other"))[0] == 404
    page.deciding.kube.answers[PATH] = not_found("loadautoscalers web not found")
    status, text = await page.get("la/shop/web/decision")
    assert (status, "web not found" in text) == (200, True)
    assert (await page.get("la/shop/web/series"))[0] == 502


@pytest.mark.parametrize(("query", "hours"), [("", 1), ("?hours=24", 24), ("?hours=99999", 1)])
async def test_the_picture_is_of_one_of_the_ranges(page, query, hours):
    status, text = await page.get(f"la/shop/web/series{query}")
    assert status == 200
    assert '"desired":[null]' in text
    assert page.history.hours == [hours]


async def test_without_the_token_nothing_is_served(page):
    for path in ("/", "/static/page.js", "/wrong/", "/tokenx/", "/token2/la/shop/web"):
        assert (await page.client.get(path)).status == 403
    assert len(new_token()) >= 32
    assert new_token() != new_token()


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "127.0.0.1", "localhost"])
async def test_the_own_names_of_this_machine_are_served_with_any_port(page, host):
    """Browsers leave out port 80, which is the default of http."""
    assert (await page.get(Host=host))[0] == 200


@pytest.mark.parametrize("host", ["evil.example:80", "127.0.0.1.evil.example:80", "evil.example"])
async def test_another_name_for_this_machine_is_refused(page, host):
    assert (await page.get(Host=host))[0] == 421


async def test_nothing_can_be_written(page):
    for method in ("POST", "PUT", "DELETE"):
        response = await page.client.request(method, f"/{TOKEN}/")
        assert response.status == 405


@pytest.mark.parametrize("path", [f"/{TOKEN}/", f"/{TOKEN}/static/page.js", "/", f"/{TOKEN}/none"])
async def test_every_response_forbids_scripts_of_others_and_hides_the_token(page, path):
    headers = (await page.client.get(path)).headers
    assert "script-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"


async def test_no_file_outside_the_folder_is_served(page):
    url = f"http://127.0.0.1:{page.client.port}/{TOKEN}/static/..%2Fserver.py"
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        assert response.status in (403, 404)


def test_sliders_give_thousandths_and_a_failure_counts_before_a_value():
    query = {"value.queue": "1500.4", "value.y": "1e9", "value.x": "-1", "fails.cpu": "1", "value.cpu": "7", "replicas": "3"}  # fmt: skip
    assert values_of(query) == {"queue": "1500m", "cpu": "fails"}


@pytest.mark.parametrize(
    ("value_milli", "expected"),
    [(None, "unknown"), (1500, "1.5"), (30_000, "30"), (2 * 10**12, "2G")],
)
def test_amounts_are_decimal_numbers_or_quantities(value_milli, expected):
    assert amount(value_milli) == expected


def test_memory_is_written_in_bytes_with_suffixes():
    mebibytes_milli = 420 * 2**20 * 1000
    assert amount(mebibytes_milli, is_in_bytes=True) == "420Mi"
    assert about(mebibytes_milli, is_in_bytes=True) == "419.6Mi"
    assert amount(None, is_in_bytes=True) == "unknown"


def test_every_limit_is_explained():
    assert list(EXPLANATIONS) == list(LIMITS)
