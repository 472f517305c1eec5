"""The generator: a seed says everything, and what it makes is worth asking."""

from collections import Counter
from urllib.parse import urlsplit

import pytest

from testbed.differential.adapter.questions import Offer, Questions, always

OFFER = Offer(
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


def test_the_same_seed_asks_the_same():
    first, second = (list(Questions(OFFER, seed="7").some(500)) for _ in range(2))
    assert first == second


def test_another_seed_asks_something_else():
    first, second = (list(Questions(OFFER, seed=seed).some(50)) for seed in ("7", "8"))
    assert first != second


def test_more_questions_begin_with_the_fewer():
    assert (
        list(Questions(OFFER, seed="7").some(50)) == list(Questions(OFFER, seed="7").some(500))[:50]
    )


def test_every_target_can_go_over_the_wire():
    for question in Questions(OFFER, seed="7").some(2000):
        assert question.target.startswith("/")
        assert question.target.isascii()
        assert not set(question.target) & set(" \r\n#")


def test_every_trait_comes_up():
    counts = Counter(t for q in Questions(OFFER, seed="7").some(2000) for t in q.traits)
    wanted = {
        "custom", "external", "usage", "metric of a namespace", "odd path", "method", "Accept", "option",
        "everyone", "one object", "missing object", "missing namespace", "unknown metric", "another resource",
        "other scope", "selector", "malformed selector",
    }  # fmt: skip
    assert wanted <= counts.keys()


@pytest.mark.parametrize(
    ("offer", "asked"),
    [
        pytest.param(Offer(custom=OFFER.custom), {"custom"}, id="custom"),
        pytest.param(Offer(external=OFFER.external), {"external"}, id="external"),
        pytest.param(Offer(usage=True), {"usage"}, id="usage"),
    ],
)
def test_only_what_is_offered_is_asked_for(offer, asked):
    traits = {t for q in Questions(offer, seed="7").some(500) for t in q.traits}
    assert traits & {"custom", "external", "usage"} == asked


def test_a_metric_with_a_percent_sign_is_encoded():
    paths = [urlsplit(q.target).path for q in Questions(OFFER, seed="7").some(2000)]
    assert any(path.endswith("/gr%C3%B6%C3%9Fe%2C%20100%25") for path in paths)


def test_each_discovery_document_is_asked_for_in_each_form_once():
    asked = list(always())
    assert len(set(asked)) == len(asked)
    assert {q.target for q in asked if not q.accept} >= {
        "/apis",
        "/apis/custom.metrics.k8s.io/v1beta2",
    }
