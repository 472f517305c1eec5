"""Values files of prometheus-community/prometheus-adapter, of every release from 3.0.0 to 5.3.0, work with the adapter chart."""

import json
from pathlib import Path
from typing import Any

import pytest

# Every value of that chart, with its default in each range of releases.
FACTS = json.loads(Path(__file__).with_name("prometheus_community_values.json").read_text("utf-8"))
RELEASES: list[str] = FACTS["releases"]
IMAGE = {"repository": "registry.example.com/loadline-autoscaler", "tag": "0.1.0"}
NEWEST = RELEASES[-1]


def defaults_of(release: str) -> dict[str, Any]:
    """The default values.yaml of a release."""
    values: dict[str, Any] = {}
    for path, ranges in FACTS["values"].items():
        for each in ranges:
            first, last = RELEASES.index(each["from"]), RELEASES.index(each["to"])
            if first <= RELEASES.index(release) <= last:
                _set(values, path, each["default"])
    return values


def _set(values: dict[str, Any], path: str, value: Any) -> None:
    *parents, name = path.split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
    values[name] = value


def moved(release: str, **changes: Any) -> dict[str, Any]:
    """The default values of a release with the image of Loadline."""
    return {**defaults_of(release), "image": IMAGE, **changes}


def test_the_facts_cover_every_release_from_3_0_to_5_3():
    assert (RELEASES[0], NEWEST, len(RELEASES)) == ("3.0.0", "5.3.0", 30)
    assert defaults_of("3.4.0")["runAsUser"] == 10001
    assert "runAsUser" not in defaults_of("4.0.0")
    assert "unhealthyPodEvictionPolicy" in defaults_of(NEWEST)["podDisruptionBudget"]


@pytest.mark.parametrize("release", RELEASES)
def test_the_default_values_of_a_release_are_accepted(adapter, release):
    rendered = adapter.render(moved(release))
    assert rendered.container["image"] == "registry.example.com/loadline-autoscaler:0.1.0"
    assert {
        "--secure-port=6443",
        "--prometheus-url=http://prometheus.default.svc:9090",
        "--metrics-relist-interval=1m",
        "--v=4",
    } <= set(rendered.arguments)
    assert rendered.container["securityContext"]["runAsUser"] == 10001
    assert sorted(m["metadata"]["name"] for m in rendered.of("APIService")) == [
        "v1beta1.custom.metrics.k8s.io",
        "v1beta2.custom.metrics.k8s.io",
    ]


@pytest.mark.parametrize("release", ["3.3.0", "3.5.0"])
def test_run_as_user_of_releases_3_3_to_3_5_sets_the_user(adapter, release):
    rendered = adapter.render(moved(release, runAsUser=20002))
    assert rendered.container["securityContext"]["runAsUser"] == 20002


def test_automount_settings_apply_to_the_service_account_and_to_the_pod(adapter):
    account = {"create": True, "automountServiceAccountToken": False}
    rendered = adapter.render(moved(NEWEST, serviceAccount=account))
    assert rendered.one("ServiceAccount")["automountServiceAccountToken"] is False
    assert rendered.pod["automountServiceAccountToken"] is True


def test_the_unhealthy_pod_eviction_policy_is_rendered_if_set(adapter):
    budget = {"enabled": True, "unhealthyPodEvictionPolicy": "AlwaysAllow"}
    spec = adapter.render(moved(NEWEST, podDisruptionBudget=budget)).one("PodDisruptionBudget")["spec"]  # fmt: skip
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    plain = adapter.render(moved(NEWEST, podDisruptionBudget={"enabled": True}))
    assert "unhealthyPodEvictionPolicy" not in plain.one("PodDisruptionBudget")["spec"]


def test_the_revision_history_limit_is_rendered(adapter):
    rendered = adapter.render(moved(NEWEST, revisionHistoryLimit=3))
    assert rendered.one("Deployment")["spec"]["revisionHistoryLimit"] == 3


@pytest.mark.parametrize("port", ["", 0])
def test_an_empty_port_adds_no_port(adapter, port):
    rendered = adapter.render(moved(NEWEST, prometheus={"url": "http://p", "port": port}))
    assert "--prometheus-url=http://p" in rendered.arguments


def test_a_port_in_quotes_is_accepted(adapter):
    rendered = adapter.render(moved(NEWEST, prometheus={"url": "http://p", "port": "9090"}))
    assert "--prometheus-url=http://p:9090" in rendered.arguments


def test_a_port_that_is_not_a_number_is_rejected(adapter, refused):
    with pytest.raises(refused, match="port"):
        adapter.render(moved(NEWEST, prometheus={"url": "http://p", "port": "http"}))
