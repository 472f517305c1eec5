"""The API server accepts the objects in the documents unchanged, and parts of autoscalers in whole ones."""

from collections.abc import Iterator

import msgspec
import pytest
import yaml

from testbed.cluster import Cluster
from testbed.programs import CRD
from tests.documented_autoscalers import Object, whole_object


@pytest.fixture(scope="module")
def kinds(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster with Loadline's kinds."""
    cluster.apply_crd(CRD.read_text())
    calendars = CRD.with_name("scalingcalendars.yaml").read_text().split("\n---\n")
    for definition in calendars:
        cluster.apply_crd(definition)
    yield cluster
    for definition in calendars:
        cluster.kubectl("delete", "--filename=-", input=definition)


def test_the_api_server_accepts_the_object(kinds, documented_block):
    found = whole_object(documented_block)
    # Of the documents' namespaces, the cluster has none.
    found["metadata"].pop("namespace", None)
    create(kinds, found)


def test_the_api_server_accepts_the_rules_of_a_role(kinds, documented_blocks):
    [rules] = documented_blocks
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "documented"},
        **yaml.safe_load(rules),
    }
    create(kinds, role)


def create(cluster: Cluster, found: Object) -> None:
    """As a dry run. Raises KubectlFailed, also for an unknown field."""
    flags = ("--dry-run=server", "--validate=strict", "--filename=-")
    cluster.kubectl("create", *flags, input=msgspec.json.encode(found).decode())
