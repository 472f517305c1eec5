"""The resources of the cluster by the names that clients write."""

import itertools

import pytest

from adapter.fetch.cluster_mapping import RESOURCES_MAX, ClusterMapping
from adapter.model import GroupResource, UnknownResource
from tests.traced_memory import traced_memory
from wire.kube.mapper import RestMapper
from wire.kube.mapping import GroupVersion, Resource, ResourceTable

CLAIMS = "persistentvolumeclaims"


def table_of(*names: str) -> tuple[GroupVersion, ...]:
    resources = tuple(
        Resource(
            group="",
            version="v1",
            name=name,
            singular=name.removesuffix("s"),
            kind=name.removesuffix("s").title(),
            namespaced=True,
        )
        for name in names
    )
    return (GroupVersion(group="", version="v1", preferred=True, resources=resources),)


@pytest.fixture
def mapper():
    return RestMapper(None, known=table_of(CLAIMS))


def spellings():
    """A name resolves without regard to case."""
    each = itertools.product(*((letter, letter.upper()) for letter in CLAIMS))
    return (GroupResource("".join(letters)) for letters in each)


def test_a_client_that_invents_spellings_of_a_name_cannot_fill_the_memory(mapper):
    mapping = ClusterMapping(mapper)
    invented = spellings()

    def kept_bytes():
        for spelling in itertools.islice(invented, 2 * RESOURCES_MAX):
            assert mapping.resource_for(spelling) == GroupResource(CLAIMS)
        return memory.kept_bytes

    with traced_memory() as memory:
        assert kept_bytes() >= kept_bytes() - 10_000


@pytest.mark.deviation("guessed-resources")
@pytest.mark.parametrize("name", ["list", "lists", "persistentvolumeclaimlist"])
def test_a_label_does_not_name_a_resource_that_is_only_guessed(mapper, name):
    with pytest.raises(UnknownResource):
        ClusterMapping(mapper).resource(GroupResource(name))


def test_a_resource_that_appears_is_found_and_one_that_disappears_is_not(mapper):
    mapping = ClusterMapping(mapper)
    assert mapping.is_namespaced(GroupResource(CLAIMS))
    with pytest.raises(UnknownResource):
        mapping.resource(GroupResource("pods"))
    mapper._table = ResourceTable(table_of("pods"))
    assert mapping.resource(GroupResource("pods")).name == "pods"
    with pytest.raises(UnknownResource):
        mapping.resource(GroupResource(CLAIMS))
