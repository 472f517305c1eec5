"""The modules of this directory share one cluster without the HPA controller: they run in one process, one after the other."""

from collections.abc import Iterator

import pytest

from testbed.audit_log import AuditLog
from testbed.cluster import Cluster
from testbed.cluster_options import WITHOUT_HPA_CONTROLLER, ClusterOptions
from tests.e2e.scaler_objects import CRD


@pytest.fixture(scope="package")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    """Of `cluster`."""
    return AuditLog(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="package")
def cluster(audit_log: AuditLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """With all CRDs of the scaler, an audit log, and HPAs that may scale to zero."""
    options = ClusterOptions(
        controllers=WITHOUT_HPA_CONTROLLER,
        feature_gates=(("HPAScaleToZero", True),),
        apiserver_flags=audit_log.flags,
    )
    with Cluster(options, directory=tmp_path_factory.mktemp("cluster")) as running:
        for file in CRD.parent.glob("*.yaml"):
            for definition in file.read_text().split("\n---\n"):
                running.apply_crd(definition)
        yield running
