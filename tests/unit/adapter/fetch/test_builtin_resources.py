"""The built-in resources are those of a real Kubernetes, and decide as its discovery does."""

import json
from pathlib import Path

import pytest

from adapter.fetch.builtin_resources import built_in_mapping, built_in_versions
from adapter.model import GroupResource, UnknownResource

DISCOVERY = Path(__file__).parents[3] / "conformance" / "kube" / "discovery.json"


def recorded() -> dict[tuple[str, str], dict]:
    """What a kube-apiserver lists, by group and resource, custom resources and subresources left out."""
    documents = json.loads(DISCOVERY.read_text())
    return {
        (
            group.removeprefix("/apis/").rpartition("/")[0] if group != "/api/v1" else "",
            each["name"],
        ): each
        for group, document in documents.items()
        for each in document.get("resources", ())
        if "/" not in each["name"] and "example.com" not in group
    }


def test_every_built_in_resource_is_as_a_real_cluster_lists_it():
    built_in = {
        (version.group, each.name): (each.singular, each.kind, each.namespaced)
        for version in built_in_versions()
        for each in version.resources
    }
    served = {
        key: (each["singularName"], each["kind"], each["namespaced"])
        for key, each in recorded().items()
    }
    assert built_in == served


@pytest.mark.parametrize(
    ("requested", "canonical"),
    [
        pytest.param("pod", "pods", id="a singular"),
        pytest.param("events", "events", id="the core group goes first"),
        pytest.param("deployments.apps", "deployments.apps", id="with its group"),
        pytest.param("ingress", "ingresses.networking.k8s.io", id="by its only group"),
        pytest.param("job", "jobs.batch", id="the label job"),
    ],
)
def test_names_are_resolved_as_by_a_cluster(requested, canonical):
    mapping = built_in_mapping()
    assert str(mapping.resource_for(GroupResource.parse(requested))) == canonical


def test_a_custom_resource_is_unknown():
    with pytest.raises(UnknownResource):
        built_in_mapping().resource_for(GroupResource("rollouts", "argoproj.io"))
