"""A Deployment of prometheus-adapter becomes ours by changing the image: so both are asked the same, and compared.

The real prometheus-adapter v0.12.0 and ours run on one kube-apiserver and one Prometheus with the same file. More
requests: LOADLINE_DIFFERENTIAL_REQUESTS=20000, other ones: LOADLINE_DIFFERENTIAL_SEED=2.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from testbed.cluster import Cluster
from testbed.differential.adapter import deviations, run, world
from testbed.differential.adapter.refused import REFUSED
from testbed.differential.adapter.sides import OURS, PEER
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer

REQUESTS = int(os.environ.get("LOADLINE_DIFFERENTIAL_REQUESTS", "1500"))
SEED = int(os.environ.get("LOADLINE_DIFFERENTIAL_SEED", "1"))
THROUGH_AGGREGATOR = 100
UNDER_EACH_FAULT = 25
SHOWN = 20
DEVIATIONS_DOCUMENT = Path(__file__).parents[2] / "docs" / "deviations.md"

OF_FAULTS = set(deviations.OF_FAULTS)
RunConfiguration = Callable[[str], run.Outcome]


@pytest.fixture(scope="module")
def comparison(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[run.Comparison]:
    """The world both look at. Its Prometheus is its own, so that no other test's series are in it."""
    directory = tmp_path_factory.mktemp("differential")
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with Exporter() as exporter, PrometheusServer(options, directory=directory) as prometheus:
        prometheus.add_target(exporter.target)
        world.expose(exporter)
        world.install(cluster)
        yield run.Comparison(
            cluster=cluster,
            prometheus=prometheus,
            at_unix_seconds=run.frozen_moment(prometheus),
            directory=directory,
            seed=SEED,
        )
        world.remove(cluster)


@pytest.fixture(scope="module")
def outcome(comparison: run.Comparison) -> RunConfiguration:
    """What came of a configuration; each is run once."""
    counts = run.shares(REQUESTS)
    return cache(lambda name: comparison.run(name, counts[name]))


@pytest.mark.parametrize("name", run.WEIGHTS)
def test_every_answer_is_the_peers_or_differs_as_we_say(outcome, name):
    unexplained = outcome(name).unexplained
    shown = "\n".join(str(each) for each in unexplained[:SHOWN])
    assert not unexplained, f"{len(unexplained)} differences that nobody meant:\n{shown}"


def test_answers_through_kube_apiserver_are_the_same_too(comparison):
    unlike = comparison.through_aggregator("walkthrough", THROUGH_AGGREGATOR)
    assert not unlike


@pytest.mark.parametrize("name", ["walkthrough", "resource_rules"])
def test_a_failing_prometheus_is_refused_alike(comparison, name):
    found = comparison.under_faults(name, UNDER_EACH_FAULT)
    unmeant = [
        f"while Prometheus {fault}: {each}"
        for fault, differences in found.items()
        for each in differences
        if each.deviation is None
    ]
    assert "\n".join(unmeant) == ""
    met = {each.deviation for differences in found.values() for each in differences}
    assert met == {"refusals-say-why"} | (OF_FAULTS if name == "resource_rules" else set())


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_the_peer_refuses_to_start_with_ours_refuses_too(comparison, tmp_path, wrong):
    path = tmp_path / "configuration.yaml"
    path.write_text(REFUSED[wrong])
    with ThreadPoolExecutor(2) as pool:
        both = {side: pool.submit(comparison.starts, side, path) for side in (PEER, OURS)}
    assert {side: started.result() for side, started in both.items()} == {PEER: False, OURS: False}


def test_the_requests_are_many_and_most_of_them_have_an_answer(outcome, capsys):
    outcomes = [outcome(name) for name in run.WEIGHTS]
    summary = run.summary(outcomes, seed=SEED)
    with capsys.disabled():
        sys.stderr.write(f"\ndifferential adapter: {json.dumps(summary)}\n")
    assert summary["asked"] >= REQUESTS
    statuses = Counter[str]()
    for each in outcomes:
        statuses.update(each.statuses)
    assert statuses["200"] >= 0.4 * summary["asked"]


def test_every_deviation_is_one_that_a_request_shows(outcome):
    met = {name for each in run.WEIGHTS for name in outcome(each).deviations}
    assert met == {*deviations.DEVIATIONS, *deviations.NOTED}


def test_every_deviation_is_a_row_of_the_document():
    rows = re.findall(r"^\|\s*`([a-z0-9-]+)`", DEVIATIONS_DOCUMENT.read_text(), re.MULTILINE)
    assert {*deviations.DEVIATIONS, *deviations.OF_FAULTS, *deviations.NOTED} <= set(rows)
