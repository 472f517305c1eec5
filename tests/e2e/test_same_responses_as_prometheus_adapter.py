"""Loadline's adapter responds as prometheus-adapter does, so that a Deployment can migrate by changing the image.

The real prometheus-adapter v0.12.0 and Loadline's adapter run on one kube-apiserver and one Prometheus with the same
configuration. LOADLINE_DIFFERENTIAL_REQUESTS=20000 sends more requests, LOADLINE_DIFFERENTIAL_SEED=2 others.
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

import msgspec
import pytest

from testbed.cluster import Cluster
from testbed.differential.adapter import adapter_comparison, adapter_deviations, cluster_and_series
from testbed.differential.adapter.adapter_instances import LOADLINE, UPSTREAM
from testbed.differential.adapter.invalid_configurations import INVALID
from testbed.exporter import Exporter
from testbed.prometheus import PrometheusOptions, PrometheusServer
from testbed.soak.regressions import recorded

REQUESTS = int(os.environ.get("LOADLINE_DIFFERENTIAL_REQUESTS", "1500"))
SEED = int(os.environ.get("LOADLINE_DIFFERENTIAL_SEED", "1"))
THROUGH_AGGREGATOR = 100
UNDER_EACH_FAULT = 25
RAW_REQUESTS = 250
SHOWN = 20
DEVIATIONS_DOCUMENT = Path(__file__).parents[2] / "docs" / "deviations.md"

FAULT_DEVIATIONS = set(adapter_deviations.FAULT_DEVIATIONS)
RunConfiguration = Callable[[str], adapter_comparison.ConfigurationResult]


@pytest.fixture(scope="module")
def comparison(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[adapter_comparison.Comparison]:
    """The cluster and series for both. Its own Prometheus has no series of other tests."""
    directory = tmp_path_factory.mktemp("differential")
    options = PrometheusOptions(scrape_interval_seconds=0.5)
    with Exporter() as exporter, PrometheusServer(options, directory=directory) as prometheus:
        prometheus.add_target(exporter.target)
        cluster_and_series.expose(exporter)
        cluster_and_series.install(cluster)
        yield adapter_comparison.Comparison(
            cluster=cluster,
            prometheus=prometheus,
            at_unix_seconds=adapter_comparison.frozen_moment(prometheus),
            directory=directory,
            seed=SEED,
        )
        cluster_and_series.remove(cluster)


@pytest.fixture(scope="module")
def result_of(comparison: adapter_comparison.Comparison) -> RunConfiguration:
    """The result of a configuration; each is run once."""
    counts = adapter_comparison.shares(REQUESTS)
    return cache(lambda name: comparison.run(name, counts[name]))


@pytest.mark.parametrize("name", adapter_comparison.WEIGHTS)
def test_every_response_is_equal_or_a_documented_deviation(result_of, name):
    unexplained = result_of(name).unexplained
    shown = "\n".join(str(each) for each in unexplained[:SHOWN])
    assert not unexplained, f"{len(unexplained)} unexplained differences:\n{shown}"


def test_no_requests_that_differed_once_differ_again(comparison):
    unexplained = []
    for regression in recorded("adapter"):
        seed, name, count = regression.case.split()
        repeated = msgspec.structs.replace(comparison, seed=int(seed))
        unexplained += repeated.run(name, int(count)).unexplained
    assert "\n".join(map(str, unexplained)) == ""


def test_responses_through_kube_apiserver_are_the_same(comparison):
    unexplained = comparison.through_aggregator("walkthrough", THROUGH_AGGREGATOR)
    assert not unexplained


@pytest.mark.deviation("http-parsers")
def test_requests_that_no_client_library_sends_get_the_same_status(comparison):
    unexplained = comparison.raw_requests("walkthrough", RAW_REQUESTS)
    assert "\n".join(unexplained) == ""


@pytest.mark.parametrize("name", ["walkthrough", "resource_rules"])
def test_responses_are_the_same_while_prometheus_fails(comparison, name):
    found = comparison.under_faults(name, UNDER_EACH_FAULT)
    unexplained = [
        f"while Prometheus {fault}: {each}"
        for fault, differences in found.items()
        for each in differences
        if each.deviation is None
    ]
    assert "\n".join(unexplained) == ""
    deviations = {each.deviation for differences in found.values() for each in differences}
    assert deviations == {"refusals-say-why"} | (
        FAULT_DEVIATIONS if name == "resource_rules" else set()
    )


@pytest.mark.parametrize("wrong", INVALID)
def test_both_refuse_to_start_with_an_invalid_configuration(comparison, tmp_path, wrong):
    path = tmp_path / "configuration.yaml"
    path.write_text(INVALID[wrong])
    with ThreadPoolExecutor(2) as pool:
        both = {each: pool.submit(comparison.starts, each, path) for each in (UPSTREAM, LOADLINE)}
    assert {each: started.result() for each, started in both.items()} == {
        UPSTREAM: False,
        LOADLINE: False,
    }


def test_there_are_enough_requests_and_many_of_them_succeed(result_of, capsys):
    results = [result_of(name) for name in adapter_comparison.WEIGHTS]
    summary = adapter_comparison.summary(results, seed=SEED)
    with capsys.disabled():
        sys.stderr.write(f"\ndifferential adapter: {json.dumps(summary)}\n")
    assert summary["requests"] >= REQUESTS
    statuses = Counter[str]()
    for each in results:
        statuses.update(each.statuses)
    assert statuses["200"] >= 0.4 * summary["requests"]


def test_every_deviation_is_shown_by_a_request(result_of):
    deviations = {
        name for each in adapter_comparison.WEIGHTS for name in result_of(each).deviations
    }
    assert deviations == {*adapter_deviations.DEVIATIONS, *adapter_deviations.RECORDED}


def test_every_deviation_is_a_row_of_the_document():
    rows = re.findall(r"^\|\s*`([a-z0-9-]+)`", DEVIATIONS_DOCUMENT.read_text(), re.MULTILINE)
    assert {
        *adapter_deviations.DEVIATIONS,
        *adapter_deviations.FAULT_DEVIATIONS,
        *adapter_deviations.RECORDED,
    } <= set(rows)
