"""Discovery against prepared documents: aggregated, per version, and half broken."""

import asyncio
import json
from collections.abc import Mapping

import msgspec
import pytest

from tests.fakes import virtual_time
from tests.fakes.clock import FakeClock
from wire.api.status import StatusError, Unavailable
from wire.kube.mapper import NoMatchError, RestMapper
from wire.kube.requests import JSON


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
    """An API server with these documents and nothing else."""

    def __init__(self, documents: Mapping[str, object]) -> None:
        self.documents = dict(documents)
        self.paths: list[str] = []

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.paths.append(path)
        document = self.documents.get(path)
        if isinstance(document, Exception):
            raise document
        if isinstance(document, asyncio.Event):
            await document.wait()
            document = self.documents[path]
        if document is None:
            raise StatusError("not there", code=404, reason="NotFound")
        return json.dumps(document).encode()


async def test_the_aggregated_documents_are_sufficient():
    server = Documents(
        {"/api": CORE, "/apis": aggregated(group("x.io", pods_in("v2", "Foo", "foos")))}
    )
    mapper = RestMapper(server)
    await mapper.refresh()
    assert server.paths == ["/api", "/apis"]
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


async def test_an_older_server_is_read_version_by_version():
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


@pytest.mark.parametrize("path", ["/api", "/apis"])
async def test_the_json_of_something_else_is_not_taken_for_a_server_without_resources(path):
    server = Documents(
        {"/api": CORE, "/apis": aggregated(group("x.io", pods_in("v1", "Foo", "foos")))}
    )
    mapper = RestMapper(server)
    await mapper.refresh()
    server.documents[path] = {}
    with pytest.raises(msgspec.DecodeError):
        await mapper.refresh()
    assert mapper.resource_for("pods").version == "v1"
    assert mapper.resource_for("foos").group == "x.io"


def test_discovery_is_read_often_until_it_was_read_once_and_then_periodically():
    server = Documents({"/api": Unavailable("down"), "/apis": aggregated()})
    mapper = RestMapper(server)

    async def scenario() -> list[int]:
        running = asyncio.create_task(mapper.run())
        counts = []
        for seconds in (10.0, 10.0, 60.0):
            before = len(server.paths)
            await virtual_time.passes(seconds)
            counts.append(server.paths[before:].count("/api"))
            server.documents["/api"] = CORE
        running.cancel()
        return counts

    while_down, first, later = virtual_time.run(scenario())
    assert 3 <= while_down <= 6
    assert first == 1
    assert later == 2


async def test_an_unknown_name_refreshes_discovery_but_not_every_time():
    clock = FakeClock()
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


def as_kube_apiserver_makes_it():
    """ConvertGroupVersionIntoToDiscovery: a metric `pods/rps` without `pods` gets a parent without verbs and kind."""
    parent = {
        "resource": "pods",
        "responseKind": {"group": "", "version": "", "kind": ""},
        "scope": "Namespaced",
        "singularResource": "",
        "verbs": None,
        "subresources": [
            {"subresource": "rps", "responseKind": {"kind": "MetricValueList"}, "verbs": ["get"]}
        ],
    }
    version = {"version": "v1beta2", "resources": [parent], "freshness": "Current"}
    return {
        "metadata": {"name": "custom.metrics.k8s.io", "creationTimestamp": None},
        "versions": [version],
    }


APPS = group("apps", pods_in("v1", "Deployment", "deployments"))


async def test_a_metrics_api_without_aggregated_discovery_hides_no_other_group():
    documents = {"/api": CORE, "/apis": aggregated(as_kube_apiserver_makes_it(), APPS)}
    mapper = RestMapper(Documents(documents))
    await mapper.refresh()
    assert mapper.resources_for_kind("apps", "Deployment")[0].name == "deployments"
    assert mapper.last_error is None


HOSTILE = {
    "verbs of another kind": group("x.io", {"version": "v1", "resources": [{"verbs": 5}]}),
    "resources of another kind": group("x.io", {"version": "v1", "resources": {"a": 1}}),
    "a version of another kind": group("x.io", 5),
    "versions of another kind": {"metadata": {"name": "x.io"}, "versions": "v1"},
    "a name of another kind": group(["x.io"], pods_in("v1", "Foo", "foos")),
    "not a group": "x.io",
    "stale and empty": group("x.io", {"version": "v1", "resources": [], "freshness": "Stale"}),
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
async def test_a_group_that_cannot_be_read_keeps_what_was_known_of_it(document, caplog):
    good = group("x.io", pods_in("v1", "Foo", "foos"))
    server = Documents({"/api": CORE, "/apis": aggregated(good, APPS)})
    mapper = RestMapper(server)
    await mapper.refresh()
    order = [version.group for version in mapper.table.versions]
    server.documents["/apis"] = aggregated(
        document, APPS, group("new.io", pods_in("v1", "New", "news"))
    )
    await mapper.refresh()
    assert mapper.resource_for("foo").group == "x.io"
    assert mapper.resource_for("new").group == "new.io"
    assert [version.group for version in mapper.table.versions] == [*order, "new.io"]
    assert mapper.last_error
    await mapper.refresh()
    assert len(caplog.records) == 1
    server.documents["/apis"] = aggregated(APPS)
    await mapper.refresh()
    assert mapper.last_error is None
    with pytest.raises(NoMatchError):
        mapper.resource_for("foo")


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE)
async def test_a_group_that_was_never_readable_hides_no_other(document):
    mapper = RestMapper(Documents({"/api": CORE, "/apis": aggregated(document, APPS)}))
    await mapper.refresh()
    assert mapper.resources_for_kind("apps", "Deployment")


async def test_one_resource_that_cannot_be_read_hides_no_other_of_its_version():
    version = pods_in("v1", "Foo", "foos")
    server = Documents({"/api": CORE, "/apis": aggregated(group("x.io", version))})
    mapper = RestMapper(server)
    await mapper.refresh()
    bars = pods_in("v1", "Bar", "bars")["resources"]
    broken = {"version": "v1", "resources": [{"resource": 1}, *bars]}
    server.documents["/apis"] = aggregated(group("x.io", broken))
    await mapper.refresh()
    assert [mapper.resource_for(name).group for name in ("foo", "bar")] == ["x.io", "x.io"]
    assert "a resource of x.io/v1 cannot be read" in mapper.last_error


async def test_a_version_whose_server_is_down_is_not_the_preferred_one():
    stale = pods_in("v2", "Foo", "foos") | {"freshness": "Stale"}
    versions = group("x.io", stale, pods_in("v1", "Foo", "foos"))
    mapper = RestMapper(Documents({"/api": CORE, "/apis": aggregated(versions)}))
    await mapper.refresh()
    assert mapper.resource_for("foos").version == "v1"
    assert "x.io/v2" in mapper.last_error


@pytest.mark.parametrize(
    "answer",
    [
        StatusError("no endpoints", code=503, reason="ServiceUnavailable"),
        Unavailable("no answer in time"),
        {"resources": "none"},
        {"resources": [{"name": 5}]},
        [],
    ],
)
async def test_without_aggregated_discovery_a_version_that_fails_hides_no_other(answer):
    server = Documents(LEGACY | {"/apis/broken.io/v1": answer})
    mapper = RestMapper(server)
    await mapper.refresh()
    assert mapper.resources_for_kind("apps", "Deployment")
    assert "broken.io/v1" in mapper.last_error


async def test_without_aggregated_discovery_nulls_are_empty():
    foos = {"name": "foos", "singularName": None, "kind": "Foo", "verbs": None, "shortNames": None}
    server = Documents(LEGACY | {"/apis/broken.io/v1": {"resources": [foos]}})
    mapper = RestMapper(server)
    await mapper.refresh()
    assert mapper.resource_for("foos").group == "broken.io"


async def test_a_version_that_hangs_is_left_to_the_next_refresh():
    hanging = asyncio.Event()
    server = Documents(LEGACY | {"/apis/broken.io/v1": hanging})
    mapper = RestMapper(server, version_wait_seconds=0.0)
    await mapper.refresh()
    await mapper.refresh()
    assert mapper.resources_for_kind("apps", "Deployment")
    assert "/apis/broken.io/v1: no answer within" in mapper.last_error
    assert server.paths.count("/apis/broken.io/v1") == 1
    server.documents["/apis/broken.io/v1"] = LEGACY["/apis/broken.io/v1"]
    hanging.set()
    await mapper.refresh()
    assert mapper.resource_for("foo").group == "broken.io"
    assert mapper.last_error is None


class SlowDocuments(Documents):
    """Each response takes six seconds."""

    def __init__(self, documents: Mapping[str, object], clock: FakeClock) -> None:
        super().__init__(documents)
        self.clock = clock

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        self.clock.seconds += 6
        return await super().get(path, params, accept=accept)


async def test_lookups_that_miss_together_refresh_a_slow_discovery_once():
    clock = FakeClock()
    clock.seconds = 60
    server = SlowDocuments({"/api": CORE, "/apis": aggregated()}, clock)
    mapper = RestMapper(server, monotonic=clock)
    await mapper.refresh()
    clock.seconds += 60
    before = len(server.paths)
    assert await asyncio.gather(*(mapper.refresh_after_miss() for _ in range(50))) == [False] * 50
    assert server.paths[before:] == ["/api", "/apis"]
