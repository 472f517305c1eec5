"""The last hours as two series on one time axis."""

import json

from kubectl_loadline.page.series import joined, remembered
from kubectl_loadline.status.row import Row

ROW = Row(kind="la", namespace="shop", name="web", target="Deployment/web", min=1, max=9, current=3, desired=4)  # fmt: skip


def test_times_of_both_series_are_joined_and_a_gap_is_none():
    found = joined({15.0: 3.0, 30.0: 3.0}, {30.0: 4.0, 45.0: 4.0}, "b")
    assert found.times == (15.0, 30.0, 45.0)
    assert found.replicas == (3.0, 3.0, None)
    assert found.desired == (None, 4.0, 4.0)


def test_without_prometheus_the_status_has_recommendations():
    step = {"replicas": 2, "sinceUnixSeconds": 10.0, "untilUnixSeconds": 60.0}
    body = json.dumps({"status": {"history": {"recommendations": [step]}}}).encode()
    found = remembered(body, ROW, "cannot find Prometheus")
    assert found.times == (10.0, 60.0)
    assert found.desired == (2.0, 2.0)
    assert found.replicas == (None, 3.0)
    assert "before windows and bounds" in found.basis
    assert "cannot find Prometheus" in found.basis


def test_an_hpa_remembers_nothing_and_says_so():
    found = remembered(b"{}", ROW, "no Prometheus")
    assert found.times == ()
    assert (
        found.basis
        == "Its status holds no recommendations. The history before that is not available: no Prometheus."
    )
