"""The generator is reproducible by seed and generates every kind of request."""

from collections import Counter
from urllib.parse import urlsplit

import pytest

from testbed.differential.adapter.metrics_requests import (
    RequestGenerator,
    ServedMetrics,
    fixed_requests,
)

SERVED_METRICS = ServedMetrics(
    custom=(
        ("jobs.batch/http_requests", True),
        ("namespaces/http_requests", False),
        ("nodes/load", False),
        ("pods/http_requests", True),
        ("pods/with/slash", True),
        ("pods/größe, 100%", True),
    ),
    external=("queue_depth",),
    usage=True,
)


def test_the_same_seed_gives_the_same_requests():
    first, second = (list(RequestGenerator(SERVED_METRICS, seed="7").some(500)) for _ in range(2))
    assert first == second


def test_another_seed_gives_other_requests():
    first, second = (
        list(RequestGenerator(SERVED_METRICS, seed=seed).some(50)) for seed in ("7", "8")
    )
    assert first != second


def test_a_larger_number_of_requests_starts_with_the_same_ones():
    assert (
        list(RequestGenerator(SERVED_METRICS, seed="7").some(50))
        == list(RequestGenerator(SERVED_METRICS, seed="7").some(500))[:50]
    )


def test_every_target_is_a_valid_request_target():
    for request in RequestGenerator(SERVED_METRICS, seed="7").some(2000):
        assert request.target.startswith("/")
        assert request.target.isascii()
        assert not set(request.target) & set(" \r\n#")


def test_every_trait_occurs():
    counts = Counter(
        t for q in RequestGenerator(SERVED_METRICS, seed="7").some(2000) for t in q.traits
    )
    wanted = {
        "custom", "external", "usage", "metric of a namespace", "odd path", "method", "Accept", "option",
        "all objects", "one object", "missing object", "missing namespace", "unknown metric", "another resource",
        "other scope", "selector", "malformed selector",
    }  # fmt: skip
    assert wanted <= counts.keys()


@pytest.mark.parametrize(
    ("served", "groups"),
    [
        pytest.param(ServedMetrics(custom=SERVED_METRICS.custom), {"custom"}, id="custom"),
        pytest.param(ServedMetrics(external=SERVED_METRICS.external), {"external"}, id="external"),
        pytest.param(ServedMetrics(usage=True), {"usage"}, id="usage"),
    ],
)
def test_only_served_metrics_are_requested(served, groups):
    traits = {t for q in RequestGenerator(served, seed="7").some(500) for t in q.traits}
    assert traits & {"custom", "external", "usage"} == groups


def test_a_metric_with_a_percent_sign_is_encoded():
    paths = [urlsplit(q.target).path for q in RequestGenerator(SERVED_METRICS, seed="7").some(2000)]
    assert any(path.endswith("/gr%C3%B6%C3%9Fe%2C%20100%25") for path in paths)


def test_each_discovery_document_is_requested_in_each_form_once():
    requests = list(fixed_requests())
    assert len(set(requests)) == len(requests)
    assert {q.target for q in requests if not q.accept} >= {
        "/apis",
        "/apis/custom.metrics.k8s.io/v1beta2",
    }
