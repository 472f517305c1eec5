"""The CRDs on the API server of each Kubernetes version: each one estimates the cost of CEL rules by its own rules."""

from collections.abc import Iterator

import pytest

from testbed import assets
from testbed.cluster import Cluster
from testbed.cluster_options import ClusterOptions
from tests.e2e.scaler_objects import CRD

CRDS = sorted(CRD.parent.glob("*.yaml"))


@pytest.fixture(scope="module", params=assets.KUBERNETES_VERSIONS)
def api_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """etcd and the kube-apiserver of one version; no other component runs."""
    options = ClusterOptions(
        kubernetes_suffix=assets.suffix_of(request.param),
        controllers=(),
        scheduler=False,
        kwok=False,
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("api-server")) as running:
        version = running.get("/version")["gitVersion"]
        assert version == assets.KUBERNETES_VERSIONS[request.param]
        yield running


@pytest.mark.parametrize("crd", CRDS, ids=lambda path: path.stem)
def test_a_crd_is_accepted_without_a_warning_and_served(api_server, crd):
    api_server.kubectl("create", "--warnings-as-errors", f"--filename={crd}")
    name = f"{crd.stem}.loadline.io"
    api_server.wait_for_crd(name)
    stored = api_server.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    assert not [c for c in stored["status"]["conditions"] if c["type"] == "NonStructuralSchema"]
