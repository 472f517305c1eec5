"""Names -> resources. The expectations were read off client-go's mapper (see the oracle test for the whole)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.kube.mapping import (
    AmbiguousError,
    GroupVersion,
    GroupVersionResource,
    NoMatchError,
    Resource,
    ResourceTable,
    guessed_names,
)


def resource(group, version, name, singular, kind, *short_names, namespaced=True):
    return Resource(
        group=group,
        version=version,
        name=name,
        singular=singular,
        kind=kind,
        namespaced=namespaced,
        short_names=short_names,
    )


def version(group, name, *resources, preferred=True):
    return GroupVersion(group=group, version=name, preferred=preferred, resources=resources)


TABLE = ResourceTable(
    [
        version(
            "",
            "v1",
            resource("", "v1", "pods", "pod", "Pod", "po"),
            resource("", "v1", "nodes", "node", "Node", "no", namespaced=False),
            resource("", "v1", "endpoints", "endpoints", "Endpoints", "ep"),
            resource("", "v1", "events", "event", "Event", "ev"),
        ),
        version("events.k8s.io", "v1", resource("events.k8s.io", "v1", "events", "event", "Event")),
        version(
            "apps",
            "v1",
            resource("apps", "v1", "deployments", "deployment", "Deployment", "deploy"),
        ),
        version(
            "batch", "v1beta1", resource("batch", "v1beta1", "jobs", "job", "Job"), preferred=False
        ),
        version("batch", "v1", resource("batch", "v1", "jobs", "job", "Job"), preferred=True),
        version(
            "storage.k8s.io",
            "v1",
            resource(
                "storage.k8s.io", "v1", "storageclasses", "", "StorageClass", "sc", namespaced=False
            ),
        ),
        version(
            "odd.io",
            "v1",
            resource("odd.io", "v1", "things", "thing", "Thing"),
            resource("odd.io", "v1", "thing", "thingie", "Other"),
        ),
    ]
)


def gvr(group, version, name):
    return GroupVersionResource(group, version, name)


@pytest.mark.parametrize(
    ("partial", "expected"),
    [
        pytest.param(gvr("", "", "pod"), gvr("", "v1", "pods"), id="singular"),
        pytest.param(gvr("", "", "Pods"), gvr("", "v1", "pods"), id="case"),
        pytest.param(gvr("", "", "events"), gvr("", "v1", "events"), id="the core group first"),
        pytest.param(
            gvr("events", "", "events"),
            gvr("events.k8s.io", "v1", "events"),
            id="a group's beginning",
        ),
        pytest.param(gvr("", "", "job"), gvr("batch", "v1", "jobs"), id="the preferred version"),
        pytest.param(gvr("", "v1beta1", "job"), gvr("batch", "v1beta1", "jobs"), id="a version"),
        pytest.param(
            gvr("batch", "v1beta1", "jobs"), gvr("batch", "v1beta1", "jobs"), id="group and version"
        ),
        pytest.param(
            gvr("", "", "storageclass"),
            gvr("storage.k8s.io", "v1", "storageclasses"),
            id="a singular guessed",
        ),
        pytest.param(
            gvr("", "", "podlist"), gvr("", "v1", "podlists"), id="the guess that upstream makes"
        ),
        pytest.param(
            gvr("", "", "endpoints"), gvr("", "v1", "endpoints"), id="singular and plural alike"
        ),
    ],
)
def test_a_partial_name_means_one_resource(partial, expected):
    assert TABLE.resource_for(partial) == expected


@pytest.mark.parametrize(
    ("partial", "message"),
    [
        pytest.param(
            gvr("", "", "po"), "no matches for /, Resource=po", id="a short name unasked-for"
        ),
        pytest.param(
            gvr("pps", "", "deployments"),
            "no matches for pps/, Resource=deployments",
            id="a group's end",
        ),
        pytest.param(
            gvr("batch", "v9", "jobs"), "no matches for batch/v9, Resource=jobs", id="a version"
        ),
    ],
)
def test_an_unknown_name_has_upstreams_message(partial, message):
    with pytest.raises(NoMatchError) as caught:
        TABLE.resource_for(partial)
    assert str(caught.value) == message


def test_a_name_of_two_resources_in_one_version_is_ambiguous():
    with pytest.raises(AmbiguousError, match="matches multiple resources"):
        TABLE.resource_for(gvr("", "", "thing"))


@pytest.mark.parametrize(
    ("short", "expected"),
    [
        pytest.param(gvr("", "", "po"), gvr("", "", "pods"), id="core"),
        pytest.param(
            gvr("ap", "", "deploy"), gvr("apps", "", "deployments"), id="a group's beginning"
        ),
        pytest.param(gvr("", "", "pods"), gvr("", "", "pods"), id="a full name stays"),
        pytest.param(gvr("", "", "nothing"), gvr("", "", "nothing"), id="an unknown one stays"),
    ],
)
def test_short_names_are_expanded_on_request(short, expected):
    assert TABLE.expand_short_name(short) == expected


def test_a_kind_is_found_in_every_version_with_the_preferred_first():
    assert [r.version for r in TABLE.resources_for_kind("batch", "Job")] == ["v1", "v1beta1"]
    with pytest.raises(NoMatchError, match=r'^no matches for kind "Job" in group "apps"$'):
        TABLE.resources_for_kind("apps", "Job")


@pytest.mark.parametrize(
    ("plural", "singular"), [("pods", "pod"), ("storageclass", "storageclass"), ("Jobs", "job")]
)
def test_a_plural_has_a_singular(plural, singular):
    assert TABLE.singular(plural) == singular


def test_the_path_of_a_collection_has_group_and_namespace():
    pods, nodes = TABLE.resource(gvr("", "v1", "pods")), TABLE.resource(gvr("", "v1", "nodes"))
    deployments = TABLE.resource(gvr("apps", "v1", "deployments"))
    assert pods.path("a") == "/api/v1/namespaces/a/pods"
    assert nodes.path("a") == "/api/v1/nodes"
    assert deployments.path() == "/apis/apps/v1/deployments"


@given(kind=st.from_regex(r"[A-Z][a-z]{1,12}", fullmatch=True))
def test_a_guessed_resource_is_found_by_singular_and_plural(kind):
    plural, singular = guessed_names(kind)
    table = ResourceTable([version("g.io", "v1", resource("g.io", "v1", plural, "", kind))])
    assert table.resource_for(gvr("", "", singular)).resource == plural
    assert table.resource_for(gvr("g", "", plural)).resource == plural
