"""Everybody is who they are to prometheus-adapter, and may what they may there: no door opens, none closes.

The real prometheus-adapter v0.12.0 and ours run on one kube-apiserver and one Prometheus, and are asked the same by
everybody who could come: through the front proxy, with certificates, with tokens, with nothing.
"""

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from testbed.cluster import Cluster
from testbed.differential.adapter import comparison, deviations
from testbed.differential.adapter.frozen import FrozenPrometheus
from testbed.differential.adapter.questions import CUSTOM, EXTERNAL, Question
from testbed.differential.adapter.sides import OURS, PEER, Answer, Side, start_side
from testbed.differential.rights import world
from testbed.differential.rights.askers import STRANGERS, askers
from testbed.differential.rights.asking import TURNED_AWAY, Asker, Door
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.waiting import until

OWN_CONTENT = ("/metrics", "/version", "/openapi/v2")
"""What each program says about itself: only who may read it is compared."""

DEVIATIONS_DOCUMENT = Path(__file__).parents[2] / "docs" / "deviations.md"
UNKNOWN_AUTHORITIES = "unknown-client-authorities"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What both said to one question."""

    question: Question
    theirs: Answer
    ours: Answer
    at_seconds: float
    moment_seconds: float


class Both(msgspec.Struct, frozen=True, kw_only=True):
    """The two programs, and when the Prometheus behind them evaluates everything."""

    sides: tuple[Side, Side]
    moment_seconds: float


@pytest.fixture(scope="module")
def both(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """The peer and ours, both ready and with all metrics listed."""
    directory = tmp_path_factory.mktemp("rights")
    configuration = directory / "config.yaml"
    configuration.write_text(world.CONFIGURATION)
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with Exporter() as exporter, PrometheusServer(options, directory=directory) as prometheus:
        prometheus.add_target(exporter.target)
        world.expose(exporter)
        world.install(cluster)
        prometheus.wait_for("backlog")
        moment = time.time()
        with FrozenPrometheus(prometheus.port, at_unix_seconds=moment) as frozen:
            given = {
                "cluster": cluster,
                "configuration": configuration,
                "prometheus_url": frozen.url,
                "directory": directory,
            }
            with start_side(PEER, **given) as theirs, start_side(OURS, **given) as ours:
                sides = (theirs, ours)
                until(lambda: all(lists_everything(side) for side in sides), what="metrics")
                yield Both(sides=sides, moment_seconds=moment)
        world.remove(cluster)


def lists_everything(side: Side) -> bool:
    listed = [
        side.ask(Question(category="discovery", target=f"/apis/{group}/v1beta1"))
        for group in (CUSTOM, EXTERNAL)
    ]
    names = {
        each["name"] for answer in listed for each in json.loads(answer.body).get("resources", [])
    }
    return names >= set(world.LISTED)


@pytest.fixture(scope="module")
def told(both, cluster, tmp_path_factory) -> dict[str, list[Told]]:
    """By asker, what both said to each question."""
    directory = tmp_path_factory.mktemp("askers")
    return {each.name: interview(each, both, directory) for each in askers(cluster)}


def interview(asker: Asker, both: Both, directory: Path) -> list[Told]:
    doors = [Door(side.port, asker, directory) for side in both.sides]
    found = []
    with ThreadPoolExecutor(len(doors)) as pool:
        for question in world.questions():
            theirs, ours = pool.map(lambda door, q=question: door.ask(q), doors)
            found.append(
                Told(
                    question=question,
                    theirs=theirs,
                    ours=ours,
                    at_seconds=time.time(),
                    moment_seconds=both.moment_seconds,
                )
            )
    for door in doors:
        door.close()
    return found


def difference(each: Told) -> tuple[str, list[str]]:
    """The deviation that explains it ("" for none), and the places where the answers differ."""
    if each.question.target in OWN_CONTENT and each.theirs.status == each.ours.status == 200:
        return "", []
    if each.theirs.status == 401 and each.ours == TURNED_AWAY:
        return UNKNOWN_AUTHORITIES, ["401, and no handshake"]
    theirs, ours = (
        comparison.seen(answer, now_seconds=each.at_seconds, moment_seconds=each.moment_seconds)
        for answer in (each.theirs, each.ours)
    )
    places = comparison.differences(theirs, ours)
    if not places:
        return "", []
    return deviations.explain(each.question, theirs, ours) or "", places


def test_every_asker_gets_from_ours_what_the_peer_gives_them(told):
    unmeant = []
    for name, found in told.items():
        for each in found:
            deviation, places = difference(each)
            if places and not deviation:
                unmeant.append(f"{name}: {each.question}: {places}")
    assert "\n".join(unmeant) == ""


def test_only_strangers_are_turned_away_at_the_door(told):
    turned_away = {
        name for name, found in told.items() if any(e.ours == TURNED_AWAY for e in found)
    }
    assert turned_away == set(STRANGERS)
    assert {each.theirs.status for name in STRANGERS for each in told[name]} == {401}
    assert f"| `{UNKNOWN_AUTHORITIES}` |" in DEVIATIONS_DOCUMENT.read_text()


def test_the_askers_tell_all_rights_apart(told, capsys):
    """The comparison would be worth nothing if everybody got the same."""
    here = f"/apis/{CUSTOM}/v1beta1/namespaces/{world.NAMESPACE}/pods/web-0"
    figures = {
        name: tuple(
            next(e.theirs.status for e in found if e.question.target == f"{here}/{metric}")
            for metric in ("inflight", "latency")
        )
        for name, found in told.items()
    }
    assert figures["nobody"] == (403, 403)
    assert figures["the front proxy for who reads all"] == (200, 200)
    assert figures["the front proxy for who reads one"] == (200, 403)
    assert figures["the front proxy for nothing"] == (401, 401)
    assert figures["a front proxy of a wrong name"] == (401, 401)
    assert figures["a user who says to be a master"] == (200, 403)
    assert figures["a certificate of who reads nothing"] == (403, 403)
    assert figures["a token of who reads one"] == (200, 403)
    assert figures["a token signed by hand"] == (200, 200)
    assert figures["a token that has expired"] == (401, 401)
    assert figures["a token that is garbage"] == (401, 401)
    statuses = Counter(str(each.theirs.status) for found in told.values() for each in found)
    count = sum(statuses.values())
    summary = {"askers": len(told), "asked": count, "statuses": dict(sorted(statuses.items()))}
    with capsys.disabled():
        sys.stderr.write(f"\nsame rights: {json.dumps(summary)}\n")
    assert min(statuses[code] for code in ("200", "401", "403", "404", "405")) > 10
