"""Names of resources and kinds mean what client-go's discovery REST mapper takes them for."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from testbed.vectors import lines
from wire.kube.mapper import RestMapper
from wire.kube.mapping import AmbiguousError, GroupVersionResource, NoMatchError, ResourceTable
from wire.kube.requests import JSON

HERE = Path(__file__).parent


class Mapped(msgspec.Struct, frozen=True):
    resource: str
    version: str
    namespaced: bool


class Row(msgspec.Struct, frozen=True):
    group: str
    version: str
    resource: str
    kind: str
    found: list[str] | None
    singular: str
    mappings: list[Mapped] | None
    error: str


ROWS = [msgspec.json.decode(line, type=Row) for line in lines(HERE / "names.jsonl")]


class Discovery:
    """Serves the recorded documents."""

    def __init__(self) -> None:
        content = (HERE / "discovery.json").read_bytes()
        self._documents = msgspec.json.decode(content, type=dict[str, msgspec.Raw])

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> bytes:
        return bytes(self._documents[path])


@pytest.fixture
async def table() -> ResourceTable:
    mapper = RestMapper(Discovery())
    await mapper.refresh()
    return mapper.table


def resource_of(table: ResourceTable, row: Row) -> tuple[list[str] | None, str]:
    try:
        found = table.resource_for(GroupVersionResource(row.group, row.version, row.resource))
    except NoMatchError as error:
        return None, str(error)
    except AmbiguousError:
        return None, "ambiguous"
    return list(found), ""


def singular_of(table: ResourceTable, name: str) -> str:
    try:
        return table.singular(name)
    except NoMatchError:
        return ""


def test_every_partial_name_means_the_same(table):
    rows = [row for row in ROWS if not row.kind]
    differing = [
        (row, got) for row in rows if (got := resource_of(table, row)) != (row.found, row.error)
    ]
    assert differing == []
    assert sum(row.found is not None for row in rows) > 1000


def test_every_plural_has_the_same_singular(table):
    rows = [row for row in ROWS if row.resource]
    differing = [
        (row.resource, got, row.singular)
        for row in rows
        if (got := singular_of(table, row.resource)) != row.singular
    ]
    assert differing == []


def kinds_of(table: ResourceTable, row: Row) -> tuple[set[Mapped], str]:
    try:
        found = table.resources_for_kind(row.group, row.kind)
    except NoMatchError as error:
        return set(), str(error)
    return {Mapped(r.name, r.version, r.namespaced) for r in found}, ""


def test_every_kind_has_the_same_resources(table):
    rows = [row for row in ROWS if row.kind]
    differing = [
        (row, got)
        for row in rows
        if (got := kinds_of(table, row)) != (set(row.mappings or ()), row.error)
    ]
    assert differing == []
    assert len(rows) > 100
