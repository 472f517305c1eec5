"""Reading figures from /proc, expositions and responses."""

import os

import pytest

from benchmarks.adapter_requests import cases
from benchmarks.instruments import metric_kinds, proc
from benchmarks.instruments.load import values_of
from benchmarks.instruments.scrape import summed
from benchmarks.scaler_hanging_metric import intervals, quantile

EXPOSITION = """\
# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{code="200",handler="/api/v1/query"} 12
requests_total{code="400",handler="/api/v1/query"} 3
requests_total{code="200",handler="/api/v1/query_range"} 100
requests_total_of_others 7
plain 1.5e+01
"""


@pytest.mark.parametrize(
    ("metric", "having", "total"),
    [
        pytest.param("requests_total", ('handler="/api/v1/query"',), 15, id="series with a label"),
        pytest.param("requests_total", (), 115, id="all series of the name, none of a longer name"),
        pytest.param("plain", (), 15, id="a series without labels"),
        pytest.param("absent", (), 0, id="a series that does not exist yet"),
    ],
)
def test_a_counter_is_the_sum_of_its_series(metric, having, total):
    assert summed(EXPOSITION, metric, having=having) == total


def test_values_are_found_in_any_json_formatting():
    body = b'{"items":[{"value": "1500m","window":null},{"value":"-2"}]}'
    assert values_of(body) == ("-2", "1500m")


def test_cpu_time_and_memory_of_a_process_are_read():
    pid = os.getpid()
    before = proc.cpu_seconds(pid)
    assert before > 0
    assert 5 < proc.rss_mib(pid) < 100_000
    assert proc.cpu_seconds(pid) >= before


def test_requests_and_their_expected_values_are_all_different():
    for case in cases():
        assert len({request.path for request in case.requests}) == len(case.requests) > 50
        assert len({request.values for request in case.requests}) == len(case.requests)


def test_a_new_target_reaches_its_replicas_in_one_step():
    # The default policy lets 1 replica become 5 at once; more would take a minute of every turn.
    assert {metric_kinds.replicas(number) for number in range(100)} <= {2, 3, 4, 5}


def test_a_quantile_is_the_bound_of_the_bucket_that_reaches_it():
    before = {"0.1": 10.0, "1.0": 10.0, "+Inf": 10.0}
    after = {"0.1": 100.0, "1.0": 109.0, "+Inf": 110.0}
    assert quantile(before, after, 0.9) == 0.1
    assert quantile(before, after, 0.99) == 1.0
    assert quantile(before, after, 1.0) == float("inf")


def test_intervals_are_between_the_requests_of_one_autoscaler():
    arrivals = {"queue=1": [0.0, 15.0, 31.0], "queue=2": [3.0]}
    assert intervals(arrivals, missing=90.0) == [15.0, 16.0, 90.0]
