"""What the simulation with the adapter itself must keep: the same seed is the same run, and the models answer as the servers do."""

import random
import socket
import time

import pytest

from tests.simulation.__main__ import simulated
from tests.simulation.cluster import Cluster
from tests.simulation.journal import Journal
from tests.simulation.metrics_apis import EXTERNAL
from tests.simulation.prometheus_model import PrometheusModel, UnknownQuery
from tests.simulation.rights import SCALER, VISITOR
from tests.simulation.timeline import Timeline
from tests.simulation.virtual_clocks import DEFAULTS, virtual_clocks
from tests.simulation.workloads import Curve, Pace, Workload
from wire.serving.review_cache import ReviewCache

SEED = 7


@pytest.fixture
def prometheus() -> PrometheusModel:
    timeline, journal, rng = Timeline(), Journal(), random.Random(1)
    cluster = Cluster(timeline)
    for api_version, kind, plural in (
        ("v1", "Pod", "pods"),
        ("apps/v1", "Deployment", "deployments"),
    ):
        cluster.add(api_version, kind, plural)
    workloads = {
        f"{namespace}/{name}": Workload(
            timeline, cluster, namespace=namespace, name=name, replicas=2, load=Curve((0.0,), (load,)),
            pace=Pace(), rng=rng, journal=journal,
        )
        for namespace, name, load in (("shop", "web0", 10.0), ("shop", "web1", 7.0), ("bank", "web2", 3.0))
    }  # fmt: skip
    model = PrometheusModel(timeline, journal, rng, workloads, 1.0)
    model.start()
    return model


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        pytest.param(
            "sum by (namespace) (queue_messages)",
            [({"namespace": "shop"}, 17.0), ({"namespace": "bank"}, 3.0)],
            id="a sum with its labels first",
        ),
        pytest.param(
            'sum(queue_messages{app="web1",namespace="shop"}) by (app)',
            [({"app": "web1"}, 7.0)],
            id="a sum with its labels last, of the series that both matchers match",
        ),
        pytest.param(
            'sum by (app) (queue_messages{namespace=~"bank|other"})',
            [({"app": "web2"}, 3.0)],
            id="a regular expression matches the whole value",
        ),
        pytest.param(
            'sum by (app) (queue_messages{namespace!="shop",app!~"web0|web1"})',
            [({"app": "web2"}, 3.0)],
            id="matchers that exclude",
        ),
        pytest.param(
            'sum by (pod) (http_requests_per_second{app="web0"})',
            [({"pod": "web0-00001"}, 5.0), ({"pod": "web0-00002"}, 5.0)],
            id="pods share the load",
        ),
        pytest.param('queue_messages{app="none"}', [], id="no series"),
    ],
)
def test_the_model_of_prometheus_evaluates_a_query(prometheus, query, rows):
    assert prometheus.evaluate(query) == rows


@pytest.mark.parametrize("query", ["max(queue_messages)", "rate(queue_messages[1m])"])
def test_the_model_of_prometheus_refuses_a_query_that_it_does_not_know(prometheus, query):
    with pytest.raises(UnknownQuery):
        prometheus.evaluate(query)


def test_a_seed_with_the_adapter_is_the_same_run_every_time() -> None:
    first, second = (simulated(SEED, scenarios="adapter", trace=True).journal for _ in range(2))
    assert first.trace == second.trace


def test_the_adapter_serves_scaler_and_visitor_and_refuses_what_the_visitor_may_not_read() -> None:
    journal = simulated(SEED, "", scenarios="adapter").journal
    statuses = {(each.user, each.status) for each in journal.served if each.group == EXTERNAL}
    assert statuses >= {(SCALER, 200), (VISITOR, 200), (VISITOR, 403)}


def test_the_clocks_are_real_again_after_a_simulation() -> None:
    real = time.monotonic, time.time, time.perf_counter, socket.create_server
    defaults = ReviewCache.__init__.__kwdefaults__ or {}
    with virtual_clocks():
        assert defaults["monotonic"] in DEFAULTS.values()
    assert (time.monotonic, time.time, time.perf_counter, socket.create_server) == real
    assert defaults["monotonic"] is time.monotonic
