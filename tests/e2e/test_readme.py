"""The API server accepts the autoscalers in the README unchanged."""

import pytest

from testbed.cluster import Cluster
from tests.e2e.scaler_objects import CRD
from tests.readme import documents

AUTOSCALERS = [document for document in documents() if "kind" in document]


def test_the_readme_shows_one_autoscaler_of_each_kind():
    assert [a["kind"] for a in AUTOSCALERS] == ["HorizontalPodAutoscaler", "LoadAutoscaler"]


@pytest.mark.parametrize("autoscaler", AUTOSCALERS, ids=lambda a: a["kind"])
def test_the_api_server_accepts_the_autoscalers_unchanged(
    cluster: Cluster, namespace: str, autoscaler
):
    cluster.apply_crd(CRD.read_text())
    metadata = {**autoscaler["metadata"], "namespace": namespace}
    cluster.apply({**autoscaler, "metadata": metadata})
