"""Whole requests compared with prometheus-adapter's own handlers, providers and naming: status, body and PromQL.

The peer ran with its real code over a fake Prometheus and a fake cluster (testbed/oracle/adapter); here the same
world stands behind our answer path. Every row must be equal, but for the differences counted by name below, which are
rows of docs/deviations.md.
"""

import asyncio
from collections import Counter
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.config import parse as parse_configuration
from adapter.documents import paths, resource_lists
from adapter.model import DiscoveryRule, GroupResource, KubeObject
from adapter.ports import QueryFailed
from adapter.promql.series_offers import offers
from tests.fakes.adapter import FakeCatalog, FakeObjects, FakePrometheus
from tests.fakes.adapter_vectors import read_response, read_series, vector_mapping
from wire.api.status import StatusError

CUSTOM, EXTERNAL = "/apis/custom.metrics.k8s.io/", "/apis/external.metrics.k8s.io/v1beta1"


DIFFERING = {"values-beyond-int64": 30}
"""Rows of docs/deviations.md, and how many vectors show them."""


class Object(msgspec.Struct):
    resource: str
    namespace: str
    name: str
    labels: dict[str, str] | None


class World(msgspec.Struct, forbid_unknown_fields=True):
    configuration: str
    series: dict[str, list[str]]
    objects: list[Object]
    answers: dict[str, str]


class Row(msgspec.Struct, forbid_unknown_fields=True):
    method: str
    path: str
    answer: str
    status: int
    body: str
    queries: list[str]


class Outcome(msgspec.Struct):
    status: int
    document: object
    refusal: dict[str, str]
    queries: list[str]


@pytest.fixture(scope="module")
def vectors(rows):
    every = rows("requests.jsonl", msgspec.Raw)
    world = msgspec.json.decode(every[0], type=World)
    return world, [
        row for raw in every[1:] if (row := msgspec.json.decode(raw, type=Row)).method == "GET"
    ]


class Ours:
    """Our answer path in the vectors' world."""

    def __init__(self, world: World) -> None:
        self._answers = world.answers
        configuration = parse_configuration(world.configuration)
        table = offers(configuration.rules, read_series(world.series), vector_mapping())
        self._catalog = FakeCatalog(table.custom, table.external)
        objects: dict[GroupResource, list[KubeObject]] = {
            kind.resource: [] for kind in vector_mapping().kinds
        }
        for each in world.objects:
            found = KubeObject(name=each.name, namespace=each.namespace, labels=each.labels or {})
            objects[GroupResource.parse(each.resource)].append(found)
        self._objects = FakeObjects(objects)
        rule = configuration.rules[0]
        assert isinstance(rule, DiscoveryRule)

    def ask(self, row: Row) -> Outcome:
        prometheus = FakePrometheus(otherwise=self._evaluation(row.answer))
        answers = Answers(
            evaluator=prometheus,
            objects=self._objects,
            mapping=vector_mapping(),
            active=ActiveConfiguration(catalog=self._catalog),
            now=lambda: 1_000.0,
        )
        try:
            document, status, refusal = asyncio.run(self._answer(row.path, answers)), 200, {}
        except StatusError as error:
            document, status = None, error.code
            kind = error.details.kind if error.details else ""
            refusal = {"message": error.message, "reason": error.reason, "kind": kind}
        encoded = msgspec.json.decode(msgspec.json.encode(document))
        return Outcome(status, encoded, refusal, [plan.query for plan in prometheus.requested])

    def _evaluation(self, name: str):
        if name == "error":
            return QueryFailed(backend="default", query="?", cause="no answer", retryable=True)
        return read_response(self._answers[name])

    async def _answer(self, url: str, answers: Answers) -> object:
        parts = urlsplit(url)
        path, query = unquote(parts.path), parse_qsl(parts.query, keep_blank_values=True)
        if path.startswith(EXTERNAL):
            rest = path.removeprefix(EXTERNAL).strip("/")
            if not rest:
                return resource_lists.external_resources(self._catalog.external_metrics())
            return await answers.external(paths.external_metric(rest, query))
        version, _, rest = path.removeprefix(CUSTOM).partition("/")
        if not rest:
            return resource_lists.custom_resources(self._catalog.custom_entries(), version)
        return await answers.custom(paths.custom_metric(rest, query, api_version=version))


def differences(row: Row, ours: Outcome) -> str:
    """What is not equal; nothing when the answers agree. Of an error our message goes on after the peer's."""
    if ours.status != row.status:
        return f"status {ours.status} {ours.refusal}"
    if ours.queries != row.queries:
        return f"queries {ours.queries}"
    if row.status == 200 and comparable(ours.document) != comparable(msgspec.json.decode(row.body)):
        return f"body {ours.document}"
    if row.status != 200 and row.body.startswith("{"):
        theirs = msgspec.json.decode(row.body)
        if not ours.refusal["message"].startswith(theirs["message"].rstrip()):
            return f"message {ours.refusal}"
        if ours.refusal["reason"] != theirs.get("reason", ""):
            return f"reason {ours.refusal}"
        if ours.refusal["kind"] != theirs.get("details", {}).get("kind", ""):
            return f"details {ours.refusal}"
    return ""


def comparable(document: object) -> object:
    """Without what depends on the moment (custom metrics are stamped with the peer's now) or on a Go map's order."""
    assert isinstance(document, dict)
    if "resources" in document:
        return {
            **document,
            "resources": sorted(document["resources"], key=lambda each: each["name"]),
        }
    items = [
        {**each, "timestamp": ""} if "describedObject" in each else each
        for each in document["items"]
    ]
    return {**document, "items": items}


def deviation(row: Row) -> str:
    """The row of docs/deviations.md that a difference belongs to."""
    if "-9223372036854775808m" in row.body or "-9223372036854775808" in row.body:
        return "values-beyond-int64"
    return ""


def test_every_request_gets_the_response_of_prometheus_adapter(vectors):
    world, requests = vectors
    ours = Ours(world)
    unexplained, explained = [], Counter()
    for row in requests:
        if found := differences(row, ours.ask(row)):
            if named := deviation(row):
                explained[named] += 1
            else:
                unexplained.append(
                    (row.path, row.answer, row.status, row.body[:300], row.queries, found)
                )
    shown = "\n".join(map(str, unexplained[:25]))
    assert not unexplained, f"{len(unexplained)} of {len(requests)} differ:\n{shown}"
    assert len(requests) > 900
    assert explained == DIFFERING


@pytest.mark.deviation("values-beyond-int64")
def test_a_deviation_is_an_error_and_not_a_number(vectors):
    world, requests = vectors
    ours = Ours(world)
    of_no_number = [row for row in requests if deviation(row) == "values-beyond-int64"]
    assert {ours.ask(row).status for row in of_no_number} == {500}
