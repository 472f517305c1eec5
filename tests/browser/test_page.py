"""The page of `kubectl loadline ui` in a real Chromium, over a real kube-apiserver and Prometheus.

`make test-page` runs it for $PAGE_AUTOSCALERS autoscalers, prints what was measured, and saves pictures in out/page.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed import apiservices, assets
from testbed.chromium import Chromium
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from testbed.metrics_api_server import EXTERNAL, MetricsAPIServer
from testbed.page_population import objects, populate, recorded_day
from testbed.processes import Process, start
from testbed.prometheus import PrometheusServer
from testbed.waiting import until

SIZES = [int(each) for each in os.environ.get("PAGE_AUTOSCALERS", "10").split(",")]
PICTURES = Path("out/page")
AXE = os.environ.get("AXE", "")
WIDTHS = (360, 1280, 1920)
"""A phone, a laptop and a wide screen."""
TAB, LEFT, RIGHT, ENTER = 9, 37, 39, 13


@pytest.fixture(scope="module", params=SIZES)
def count(request: pytest.FixtureRequest) -> int:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return int(request.param)


@pytest.fixture(scope="module")
def cluster(count: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    options = ClusterOptions(controllers=(), scheduler=False, kwok=False, nodes=0)
    with Cluster(options, directory=tmp_path_factory.mktemp("cluster")) as running:
        started = time.monotonic()
        asyncio.run(populate(running, count))
        print(f"\n{count} autoscalers created in {time.monotonic() - started:.0f} s")
        with MetricsAPIServer(*running.serving_certificate("external-metrics")) as api:
            metadata = next(objects(1))["metadata"]
            api.values[f"{metadata['namespace']}/queue_length"] = "230"
            name = apiservices.register(running, EXTERNAL, "v1beta1", api.port)
            apiservices.wait_until_available(running, name)
            yield running


@pytest.fixture(scope="module")
def first() -> dict[str, str]:
    """The namespace and the name of the first autoscaler, which has a target and a recorded day."""
    found: dict[str, str] = next(objects(1))["metadata"]
    return found


@pytest.fixture(scope="module")
def history(count: int, tmp_path_factory) -> Iterator[PrometheusServer]:
    """A Prometheus with the last day of the first autoscaler, and the last hour of the others."""
    directory: Path = tmp_path_factory.mktemp("history")
    file = directory / "day.om"
    file.write_text(recorded_day(count, until_unix_seconds=time.time()))
    subprocess.run(
        [assets.find("promtool"), "tsdb", "create-blocks-from", "openmetrics", file, directory / "storage"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with PrometheusServer(directory=directory) as running:
        yield running


@pytest.fixture(scope="module")
def address(
    cluster: Cluster, history: PrometheusServer, count: int, tmp_path_factory
) -> Iterator[str]:
    """The address that `kubectl loadline ui` has printed."""
    log = tmp_path_factory.mktemp("ui") / "ui.log"
    command = [
        sys.executable,
        "-m",
        "kubectl_loadline.program",
        "ui",
        "--open=false",
        f"--kubeconfig={cluster.kubeconfig}",
        f"--prometheus-url={history.url}",
    ]
    started = time.monotonic()
    process: Process = start("ui", command, log_path=log)
    until(lambda: "http://127.0.0.1:" in process.log(), what="the address", deadline_seconds=60)
    print(f"{count} autoscalers: the address after {time.monotonic() - started:.1f} s")
    assert f"{count} autoscalers. Open" in process.log()
    yield process.log().split()[-1]
    assert process.stop() == 0, process.log()


@pytest.fixture
async def page() -> AsyncIterator[Chromium]:
    async with Chromium() as tab:
        yield tab
        assert tab.console == []


@pytest.fixture
def details(address: str, first: dict[str, str]) -> str:
    return f"{address}la/{first['namespace']}/{first['name']}"


async def first_paint_ms(page: Chromium) -> float:
    await page.wait_for("performance.getEntriesByName('first-contentful-paint').length > 0")
    script = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    return float(await page.evaluate(script))


async def violations(page: Chromium) -> list[dict[str, Any]]:
    """What axe-core finds on the page as it is now."""
    await page.evaluate(await asyncio.to_thread(Path(AXE).read_text, "utf-8"))
    found = await page.evaluate("axe.run().then(found => JSON.stringify(found.violations))")
    return [{"id": each["id"], "nodes": [n["html"] for n in each["nodes"]]} for each in json.loads(found)]  # fmt: skip


async def shown_wholly(page: Chromium) -> None:
    """The decision, the result of the sliders, and the chart."""
    await page.wait_for("document.querySelector('#result .headline')")
    await page.wait_for("document.querySelector('#chart svg')")


async def resize(page: Chromium, width: int, height: int = 900) -> None:
    await page.send(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
    )  # fmt: skip


async def in_scheme(page: Chromium, scheme: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    await page.send("Emulation.setEmulatedMedia", features=features)


async def pictured(page: Chromium, name: str, width: int) -> None:
    """The whole page, not only what is visible."""
    height = await page.evaluate("document.documentElement.scrollHeight")
    await resize(page, width, height)
    await page.picture(PICTURES / f"{name}.png")


async def test_the_list_is_painted_at_once_and_filtered_while_typing(page, address, count):
    await page.open(address)
    print(f"{count} autoscalers: first paint of the list after {await first_paint_ms(page):.0f} ms")
    rows = await page.evaluate("document.querySelectorAll('tbody tr').length")
    assert rows == min(count, 50)
    script = """new Promise(done => {
      const text = document.getElementById('text'); const at = performance.now();
      document.body.addEventListener('htmx:afterSettle', () => done(performance.now() - at), {once: true});
      text.value = 'shop web'; text.dispatchEvent(new Event('input', {bubbles: true})); })"""
    elapsed = await page.evaluate(script)
    print(f"{count} autoscalers: filtered {elapsed:.0f} ms after the last key (150 ms of it waiting for more keys)")  # fmt: skip
    names = await page.evaluate("[...document.querySelectorAll('tbody th a')].map(a => a.textContent)")  # fmt: skip
    assert names == [each for each in names if each.startswith("shop/") and "web" in each]
    assert "text=shop%20web" in await page.evaluate("location.href")


async def test_one_autoscaler_has_its_reason_its_day_and_sliders(page, details, count, first):
    await page.open(details)
    print(f"{count} autoscalers: first paint of one after {await first_paint_ms(page):.0f} ms")
    await shown_wholly(page)
    text = "document.getElementById('chart-text').textContent"
    found = await page.evaluate(text)
    for expected in (
        "current ",
        "desired ",
        "demand ",
        "queue_length ",
        "Recorded by Prometheus",
    ):
        assert expected in found
    curves = "[...document.querySelectorAll('#chart .label')].map(each => each.textContent.split(' ')[0])"  # fmt: skip
    assert set(await page.evaluate(curves)) == {
        "load",
        "demand",
        "current",
        "desired",
        "min",
        "max",
    }
    assert await page.evaluate("document.querySelectorAll('#chart .event').length") == 1
    listed = await page.evaluate("document.querySelector('#events li').textContent")
    assert (
        "SuccessfulRescale New size: 8; reason: external metric queue_length above target" in listed
    )
    await page.evaluate("document.querySelector('#hours-shown').value = '24'")
    await page.evaluate(
        "document.querySelector('#hours-shown').dispatchEvent(new Event('change', {bubbles: true}))"
    )
    await page.wait_for(f"{text}.includes('per 150 s')")


async def test_the_decision_is_an_ordered_list_from_the_metric_to_the_final_count(page, details):
    await page.open(details)
    await shown_wholly(page)
    titles = "[...document.querySelectorAll('#why + ol .title')].map(each => each.textContent)"
    found = await page.evaluate(titles)
    assert found[0] == "Current"
    assert found[1].startswith("external metric queue_length{queue=")
    assert found[-1] == "Desired"
    headline = await page.evaluate("document.querySelector('#decision .headline').textContent")
    last = "[...document.querySelectorAll('#why + ol .sentence')].at(-1).textContent"
    assert await page.evaluate(last) == headline


async def test_the_keyboard_reads_any_moment_of_the_chart(page, details):
    await page.open(details)
    await shown_wholly(page)
    await page.evaluate("document.getElementById('moment').focus()")
    await page.press("ArrowLeft", code=LEFT)
    spoken = await page.evaluate("document.getElementById('moment').getAttribute('aria-valuetext')")
    assert spoken == await page.evaluate("document.getElementById('at-moment').textContent")
    for expected in ("queue_length ", "current ", "desired ", "demand "):
        assert expected in spoken


async def test_only_rows_that_can_be_seen_have_a_sparkline(page, address, count):
    await page.open(address)
    await page.wait_for("document.querySelector('.hour svg')")
    assert await page.evaluate("document.getElementById('hours-basis').textContent") == (
        "Current replicas of the last hour, recorded by Prometheus."
    )
    drawn = await page.evaluate("document.querySelectorAll('.hour svg').length")
    rows = await page.evaluate("document.querySelectorAll('.hour').length")
    assert 0 < drawn <= rows
    assert (drawn < rows) == (count > 30)
    started = time.monotonic()
    url = "document.getElementById('table').dataset.lastHours"
    size = await page.evaluate(f"fetch({url} + '&').then(r => r.text()).then(text => text.length)")
    print(f"{count} autoscalers: the last hours of {rows} rows, {size} bytes, after {(time.monotonic() - started) * 1000:.0f} ms")  # fmt: skip
    words = await page.evaluate("document.querySelector('.hour svg').getAttribute('aria-label')")
    assert words.endswith("replicas in the last hour")


async def test_what_a_person_on_call_wants_first_is_a_link_above_the_table(page, address, count):
    await page.open(address)
    shown = "document.querySelector('#show-{} b').textContent"
    assert await page.evaluate(shown.format("all")) == str(count)
    broken = int(await page.evaluate(shown.format("problems")))
    assert broken == len([index for index in range(count) if index % 97 == 7])
    await page.evaluate("document.getElementById('show-problems').click()")
    await page.wait_for("document.querySelector('#show-problems[aria-current]')")
    assert await page.evaluate("document.querySelectorAll('tbody tr').length") == min(broken, 50)
    assert await page.evaluate("document.querySelectorAll('tbody tr.broken').length") == min(
        broken, 50
    )


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_is_wider_than_the_screen(page, address, details, count, width, scheme):
    await in_scheme(page, scheme)
    await resize(page, width)
    for name, url in (("list", address), ("one", details)):
        await page.open(url)
        if name == "one":
            await shown_wholly(page)
        else:
            await page.wait_for("document.querySelector('.hour svg')")
        inside = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        assert await page.evaluate(inside)
        for wide in ("#chart svg", ".waterfall"):
            fits = f"[...document.querySelectorAll('{wide}')].every(each => each.getBoundingClientRect().right <= innerWidth)"
            assert await page.evaluate(fits)
        await pictured(page, f"{name}-{count}-{width}-{scheme}", width)
        await resize(page, width)


async def test_a_slider_is_moved_by_the_keyboard_and_decides_at_once(page, details, count):
    await page.open(details)
    await shown_wholly(page)
    await page.evaluate("document.querySelector('#what-if input[type=range]').focus()")
    before = await page.evaluate("document.querySelector('#result .headline').textContent")
    elapsed = []
    for _ in range(12):
        await page.evaluate(
            "window.decided = new Promise(done => { const at = performance.now();"
            "document.body.addEventListener('htmx:afterSettle', () => done(performance.now() - at), {once: true}); }); 1"
        )
        for _ in range(3):
            await page.press("ArrowRight", code=RIGHT)
        elapsed.append(await page.evaluate("window.decided"))
    elapsed.sort()
    print(
        f"{count} autoscalers: a slider decides after {elapsed[len(elapsed) // 2]:.0f} ms (median), {elapsed[-1]:.0f} ms (longest)"
    )
    await page.wait_for(
        f"document.querySelector('#result .headline').textContent !== {json.dumps(before)}"
    )


async def test_the_keyboard_reaches_an_autoscaler_from_the_list(page, address, count):
    await page.open(address)
    focused = "document.activeElement"
    assert await page.evaluate(f"{focused}.id") == "text"
    for _ in range(30):
        await page.press("Tab", code=TAB)
        if await page.evaluate(f"{focused}.closest('tbody') !== null"):
            break
    target = await page.evaluate(f"{focused}.id")
    assert target.startswith("la/")
    await page.press("Enter", code=ENTER, text="\r")
    await page.wait_for(f"location.pathname.endsWith({json.dumps(target)})")


@pytest.mark.skipif(not AXE, reason="$AXE does not name axe.min.js; make test-page sets it")
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_no_violation(page, address, details, scheme, width):
    await in_scheme(page, scheme)
    await resize(page, width)
    await page.open(address)
    await page.wait_for("document.querySelector('.hour svg')")
    assert await violations(page) == []
    await page.open(details)
    await shown_wholly(page)
    assert await violations(page) == []
    await page.open(f"{address}?text=nothing+matches+this")
    assert await violations(page) == []
