"""A configuration comes into force as a whole, and what is as before is kept."""

import asyncio

import pytest

from adapter.answer import Answers
from adapter.commands.in_force import Switch, Upkeep
from adapter.config import ConfigError, parse
from adapter.fetch.cache import SharedAnswers
from adapter.fetch.catalog import Times
from adapter.fetch.credentials import FileCredentials
from adapter.fetch.prometheus import Backends
from adapter.model import Backend, ExternalMetricRequest, Plan
from tests.fakes.adapter import FakeMapping, FakeObjects
from tests.unit.adapter.fetch.canned import CannedServer, answer, vector
from wire.labels import EVERYTHING

TWO_BACKENDS = """
backends:
- {name: second, url: URL/second}
metrics:
- {name: queue, query: 'sum(queue)', backend: second}
"""
RULES = """
rules:
- seriesQuery: 'up{namespace!=""}'
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
resourceRules:
  cpu: {containerQuery: 'c', nodeQuery: 'n', containerLabel: container, resources: {template: '<<.Resource>>'}}
  memory: {containerQuery: 'c', nodeQuery: 'n', containerLabel: container, resources: {template: '<<.Resource>>'}}
  window: 1m
"""


@pytest.fixture
async def server():
    async with CannedServer().listening() as listening:
        yield listening


@pytest.fixture
async def upkeep():
    keeping = Upkeep()
    yield keeping
    await keeping.end()


@pytest.fixture
async def backends():
    used = Backends({})
    yield used
    await used.close()


@pytest.fixture
def answers(backends):
    return Answers(prometheus=backends, objects=FakeObjects({}), mapping=FakeMapping())


@pytest.fixture
def switch(server, upkeep, backends, answers, tmp_path):
    default = Backend(url=server.url, timeout_seconds=5.0)
    return Switch(
        tmp_path / "config.yaml",
        default_backend=default,
        default_credentials=FileCredentials(default),
        backends=backends,
        prometheus=backends,
        mapping=FakeMapping(),
        times=Times(relist_seconds=600.0, max_age_seconds=600.0),
        answers=answers,
        upkeep=upkeep,
    )


async def test_groups_are_those_with_rules(switch, answers, server):
    server.says = answer({"status": "success", "data": []})
    await switch.apply(parse(TWO_BACKENDS.replace("URL", server.url)))
    assert answers.in_force.groups == ("external.metrics.k8s.io",)
    await switch.apply(parse(RULES))
    assert answers.in_force.groups == ("custom.metrics.k8s.io", "metrics.k8s.io")
    assert answers.in_force.resource_rules


async def test_a_reload_waits_for_its_series_before_it_takes_over(switch, answers, server):
    await switch.apply(parse("externalRules:\n- {seriesQuery: one, metricsQuery: one}\n"))
    server.says = answer({"status": "success", "data": [{"__name__": "two"}]})
    await switch.apply(parse("externalRules:\n- {seriesQuery: two, metricsQuery: two}\n"))
    assert answers.in_force.catalog.external_metrics() == ["two"]


async def test_a_backend_that_is_as_before_keeps_its_connections(switch, backends, server):
    server.says = vector()
    configuration = parse(TWO_BACKENDS.replace("URL", server.url))
    await switch.apply(configuration)
    before = backends._clients["second"]
    await switch.apply(configuration)
    assert backends._clients["second"] is before
    await switch.apply(parse(TWO_BACKENDS.replace("URL/second", f"{server.url}/other")))
    await backends.evaluate(Plan("sum(queue)", "second"))
    assert server.asked[-1].path == "/other/api/v1/query"


async def test_a_file_that_cannot_be_used_changes_nothing(switch, answers, server, tmp_path):
    await switch.apply(parse(TWO_BACKENDS.replace("URL", server.url)))
    in_force = answers.in_force
    broken = TWO_BACKENDS.replace("URL/second}", f"URL, tokenFile: {tmp_path / 'absent'}}}")
    with pytest.raises(ConfigError, match=r"backends\[0\].*cannot be used"):
        await switch.apply(parse(broken.replace("URL", server.url)))
    assert answers.in_force is in_force


async def test_a_task_that_fails_is_told_and_ends_the_program(upkeep, caplog):
    async def fails() -> None:
        raise ValueError("a bug")

    upkeep.spawn(fails())
    await asyncio.wait_for(upkeep.failed.wait(), 5)
    assert "a bug" in caplog.text


TENANTS = """
backends:
- {name: team-a, url: URL/prometheus, headers: {X-Scope-OrgID: team-a}}
- {name: team-b, url: URL/prometheus, headers: {X-Scope-OrgID: team-b}}
metrics:
- {name: of_a, query: 'sum(queue)', backend: team-a}
- {name: of_b, query: 'sum(queue)', backend: team-b}
"""


async def test_each_rule_asks_as_its_own_tenant_and_answers_are_not_shared(
    switch, answers, backends, server
):
    server.says = vector(({}, "7"))
    await switch.apply(parse(TENANTS.replace("URL", server.url)))
    answers._prometheus = SharedAnswers(backends, freshness_seconds=60.0)
    for metric in ("of_a", "of_b", "of_a"):
        asked = ExternalMetricRequest(namespace="n", metric=metric, selector=EVERYTHING)
        await answers.external(asked)
    assert [(each.path, each.headers["X-Scope-OrgID"]) for each in server.asked] == [
        ("/prometheus/api/v1/query", "team-a"),
        ("/prometheus/api/v1/query", "team-b"),
    ]
