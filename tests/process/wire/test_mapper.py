"""The REST mapper on real discovery."""

import msgspec
import pytest

from tests.process.wire.conftest import until  # noqa: F401
from wire.kube.mapper import NoMatchError, RestMapper
from wire.kube.requests import JSON

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.wire.example.com}
spec:
  group: wire.example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, shortNames: [gg]}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources:
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
"""


class PerVersionOnly:
    """The same server without aggregated discovery."""

    def __init__(self, client):
        self.client = client

    async def get(self, path, params=None, *, accept=JSON):
        return await self.client.get(path, params)


async def test_the_aggregated_and_the_older_documents_say_the_same(client):
    newer, older = RestMapper(client), RestMapper(PerVersionOnly(client))
    await newer.refresh()
    await older.refresh()

    def resources(mapper):
        return {
            msgspec.structs.replace(resource, subresources=tuple(sorted(resource.subresources)))
            for version in mapper.table.versions
            for resource in version.resources
        }

    assert resources(newer) == resources(older)
    assert len(resources(newer)) > 50


@pytest.mark.parametrize(
    ("name", "group", "expected"),
    [
        ("pod", "", ("", "v1", "pods")),
        ("job", "", ("batch", "v1", "jobs")),
        ("events", "", ("", "v1", "events")),
        ("deployment", "apps", ("apps", "v1", "deployments")),
        ("ingress", "networking", ("networking.k8s.io", "v1", "ingresses")),
        ("hpa", "", ("autoscaling", "v2", "horizontalpodautoscalers")),
    ],
)
async def test_names_mean_the_same_as_for_kubectl(client, name, group, expected):
    mapper = RestMapper(client)
    await mapper.refresh()
    assert mapper.resource_for(name, group, short_names=True) == expected


async def test_a_new_crd_is_found_by_a_refresh(control_plane, client):
    mapper = RestMapper(client)
    await mapper.refresh()
    with pytest.raises(NoMatchError):
        mapper.resources_for_kind("wire.example.com", "Gadget")
    control_plane.apply(CRD)
    control_plane.wait_for_crd("gadgets.wire.example.com")
    for _ in range(50):
        await mapper.refresh()
        if any(version.group == "wire.example.com" for version in mapper.table.versions):
            break
    [gadgets] = mapper.resources_for_kind("wire.example.com", "Gadget")
    assert (gadgets.name, gadgets.namespaced) == ("gadgets", True)
    assert "scale" in gadgets.subresources
