"""The README, followed by a user who has a cluster and Prometheus: from the values of the adapter to the reason of a decision.

Then other documents that continue from there.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer
from testbed.waiting import until
from tests.documented_blocks import ROOT, blocks_in
from tests.e2e.readme_user import User, create_workloads, export_queues

WORKLOADS = {"web": 2, "worker": 1, "thumbnails": 1}
QUEUES = {"mail": 90, "images": 75}
SERIES = ("http_requests_total", "queue_messages_ready")


@pytest.fixture(scope="module")
def cluster(forwarding_cluster: Cluster) -> Cluster:
    return forwarding_cluster


@pytest.fixture
def user(
    cluster: Cluster, prometheus: PrometheusServer, exporter: Exporter, tmp_path: Path
) -> Iterator[User]:
    create_workloads(cluster, WORKLOADS)
    cluster.kubectl("rollout", "status", "deployment/web", "-nshop", "--timeout=60s")
    for pod in cluster.get("/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb")["items"]:
        exporter.increase("http_requests_total", 50, namespace="shop", pod=pod["metadata"]["name"])
    export_queues(exporter, QUEUES)
    prometheus.wait_for('count(http_requests_total{namespace="shop"}) == 2')
    user = User(cluster, prometheus.url, tmp_path)
    yield user
    user.stop()
    for series in SERIES:
        exporter.remove(series, namespace="shop")


def test_the_readme_is_followed_to_the_end(user: User, documented_blocks):
    readme = [block.text for block in blocks_in(ROOT / "README.md")]
    assert documented_blocks[: len(readme)] == readme, "a block of the README is not run"
    for block in readme:
        user.follow(block)
        if "helm install loadline-adapter" in block:
            adapter = user.run_the_programs()
    expect_a_value(user.cluster, "web", "http_requests_per_second")
    follow_other_documents(user, adapter, documented_blocks[len(readme) :])


def expect_a_value(cluster: Cluster, name: str, metric: str) -> None:
    """Wait until the status of the HPA has a value of the metric."""
    path = f"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/{name}"

    def has_value() -> bool:
        # An entry without a type is that of a metric that was not read yet.
        metrics = cluster.get(path)["status"].get("currentMetrics") or ()
        assert [each["pods"]["metric"]["name"] for each in metrics if "pods" in each] == [metric]
        return True

    until(has_value, what=f"a value of {metric}", deadline_seconds=120)


def follow_other_documents(user: User, adapter: LoadlineProcess, blocks: list[str]) -> None:
    """Check, explain and convert in the cluster of the README, with the configuration of its release."""
    check, migrate, explain, *rest = blocks
    *first_autoscaler, explain_file, explain_running, convert, compare, enforce = rest
    read = (
        "kubectl -n monitoring get configmap loadline-adapter -o jsonpath='{.data.config\\.yaml}'"
    )
    user.shell.run(f"{read} > config.yaml")
    assert "config.yaml is accepted" in user.shell.run(check)
    user.shell.run(migrate)
    running = f"loadline-adapter explain --server={adapter.url} --insecure-skip-tls-verify"
    for block in (explain, explain_running):
        user.runs(
            block.replace("loadline-adapter explain", running),
            expecting=lambda output: "value " in output,
        )
    assert "value " in user.shell.run(explain_file)
    for block in first_autoscaler:
        user.follow(block)
    user.shell.run(convert)
    user.runs(compare, expecting=lambda output: "shop/web" in output)
    user.shell.run(enforce)
