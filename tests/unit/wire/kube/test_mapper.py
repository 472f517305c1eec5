"""Discovery against prepared documents: aggregated, per version, and half broken."""

import json
from collections.abc import Mapping

import pytest

from wire.kube.client import JSON
from wire.kube.mapper import NoMatchError, RestMapper
from wire.status import StatusError, Unavailable


def aggregated(*groups):
    return {"kind": "APIGroupDiscoveryList", "items": list(groups)}


def group(name, *versions):
    return {"metadata": {"name": name}, "versions": list(versions)}


def pods_in(version, kind="Pod", name="pods"):
    entry = {
        "resource": name,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced",
        "singularResource": kind.lower(),
        "verbs": ["get", "list"],
        "shortNames": ["po"],
        "subresources": [
            {"subresource": "status", "responseKind": {"kind": kind}, "verbs": ["get"]}
        ],
    }
    return {"version": version, "resources": [entry], "freshness": "Current"}


CORE = aggregated(group("", pods_in("v1")))


class Documents:
    """An API server that serves these documents and nothing else."""

    def __init__(self, documents: Mapping[str, object]) -> None:
        self.documents = dict(documents)
        self.asked: list[str] = []

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.asked.append(path)
        document = self.documents.get(path)
        if isinstance(document, Exception):
            raise document
        if document is None:
            raise StatusError("not there", code=404, reason="NotFound")
        return json.dumps(document).encode()


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_the_aggregated_document_is_enough():
    server = Documents(
        {"/api": CORE, "/apis": aggregated(group("x.io", pods_in("v2", "Foo", "foos")))}
    )
    mapper = RestMapper(server)
    await mapper.refresh()
    assert server.asked == ["/api", "/apis"]
    foos = mapper.resource(mapper.resource_for("foo"))
    assert (foos.group, foos.version, foos.kind, foos.subresources) == (
        "x.io",
        "v2",
        "Foo",
        ("status",),
    )
    assert mapper.is_namespaced("foos", "x.io")
    assert mapper.resource_for("po", short_names=True).resource == "pods"


LEGACY = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": name,
                "versions": [{"groupVersion": f"{name}/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": f"{name}/v1", "version": "v1"},
            }
            for name in ("apps", "broken.io")
        ],
    },
    "/api/v1": {
        "resources": [{"name": "pods", "singularName": "pod", "kind": "Pod", "namespaced": True}]
    },
    "/apis/apps/v1": {
        "resources": [
            {
                "name": "deployments",
                "singularName": "deployment",
                "kind": "Deployment",
                "namespaced": True,
            },
            {"name": "deployments/scale", "singularName": "", "kind": "Scale", "namespaced": True},
        ]
    },
    "/apis/broken.io/v1": {"resources": [{"name": "foos", "singularName": "foo", "kind": "Foo"}]},
}


async def test_an_older_server_is_asked_per_version():
    mapper = RestMapper(Documents(LEGACY))
    await mapper.refresh()
    assert mapper.resources_for_kind("apps", "Deployment")[0].subresources == ("scale",)
    assert mapper.singular("deployments") == "deployment"
    with pytest.raises(NoMatchError):
        mapper.resources_for_kind("apps", "Scale")


async def test_a_group_that_fails_keeps_what_was_known_and_hides_no_other(caplog):
    server = Documents(LEGACY)
    mapper = RestMapper(server)
    await mapper.refresh()
    server.documents["/apis/broken.io/v1"] = Unavailable("no endpoints")
    server.documents["/api/v1"] = {"resources": []}
    await mapper.refresh()
    assert mapper.resource_for("foo").group == "broken.io"
    with pytest.raises(NoMatchError):
        mapper.resource_for("pods")
    assert "no endpoints" in caplog.text


async def test_a_stale_version_keeps_its_resources():
    stale = pods_in("v1", "Foo", "foos") | {"freshness": "Stale"}
    mapper = RestMapper(Documents({"/api": CORE, "/apis": aggregated(group("x.io", stale))}))
    await mapper.refresh()
    assert mapper.resource_for("foos").group == "x.io"


async def test_a_failed_refresh_leaves_the_table_as_it_was():
    server = Documents({"/api": CORE, "/apis": aggregated()})
    mapper = RestMapper(server)
    await mapper.refresh()
    server.documents["/apis"] = Unavailable("down")
    with pytest.raises(Unavailable):
        await mapper.refresh()
    assert mapper.resource_for("pods").version == "v1"


async def test_a_miss_is_looked_up_again_but_not_at_every_question():
    clock = Clock()
    changes: list[str] = []
    server = Documents({"/api": CORE, "/apis": aggregated()})
    mapper = RestMapper(server, monotonic=clock, on_change=lambda: changes.append("changed"))
    await mapper.refresh()
    server.documents["/apis"] = aggregated(group("x.io", pods_in("v1", "Foo", "foos")))
    assert await mapper.refresh_after_miss() is False
    clock.seconds = 6
    assert await mapper.refresh_after_miss() is True
    assert mapper.resource_for("foo").group == "x.io"
    clock.seconds = 12
    assert await mapper.refresh_after_miss() is False
    assert changes == ["changed", "changed"]
