"""A configuration becomes active as a whole, and what did not change is kept."""

import asyncio

import pytest

from adapter.answer import Answers
from adapter.config import ConfigError, parse
from adapter.fetch.catalog import Listing, Selection, Times
from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import Backend, ExternalMetricRequest, Freshness, Plan, Series
from adapter.runtime.activation import ConfigurationActivator
from testbed import waiting
from tests.fakes.adapter import FakeMapping, FakeObjects, Kind
from tests.unit.adapter.fetch.canned import CannedServer, answer, vector
from wire.api.labels import EVERYTHING
from wire.process.background_tasks import BackgroundTasks
from wire.prometheus.access import FileCredentials

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
async def tasks():
    running = BackgroundTasks()
    yield running
    await running.stop()


@pytest.fixture
async def backends():
    used = Backends({})
    yield used
    await used.close()


@pytest.fixture
def answers(backends):
    return Answers(evaluator=backends, objects=FakeObjects({}), mapping=FakeMapping())


@pytest.fixture
def activator(server, tasks, backends, answers, tmp_path):
    default = Backend(url=server.url, timeout_seconds=5.0)
    return ConfigurationActivator(
        tmp_path / "config.yaml",
        default=PrometheusClient(default, FileCredentials(default)),
        backends=backends,
        mapping=FakeMapping(),
        times=Times(relist_seconds=600.0, max_age_seconds=600.0),
        answers=answers,
        tasks=tasks,
    )


async def test_groups_are_those_with_rules(activator, answers, server):
    server.says = answer({"status": "success", "data": []})
    await activator.activate(parse(TWO_BACKENDS.replace("URL", server.url)))
    assert answers.active.groups == ("external.metrics.k8s.io",)
    await activator.activate(parse(RULES))
    assert answers.active.groups == ("custom.metrics.k8s.io", "metrics.k8s.io")
    assert answers.active.resource_rules


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param("metrics:\n- {name: queue, query: 'sum(queue)'}\n", id="named metrics only"),
        pytest.param("rules: []\n", id="no rule"),
    ],
)
async def test_a_configuration_without_series_to_list_is_not_a_failure(activator, tasks, rules):
    await activator.activate(parse(rules))
    for _ in range(5):
        await asyncio.sleep(0)
    assert tasks.problem is None


async def test_a_reload_waits_for_the_new_series_before_it_becomes_active(
    activator, answers, server
):
    await activator.activate(parse("externalRules:\n- {seriesQuery: one, metricsQuery: one}\n"))
    server.says = answer({"status": "success", "data": [{"__name__": "two"}]})
    await activator.activate(parse("externalRules:\n- {seriesQuery: two, metricsQuery: two}\n"))
    assert answers.active.catalog.external_metrics() == ["two"]


async def test_a_backend_that_did_not_change_keeps_its_connections(activator, backends, server):
    server.says = vector()
    configuration = parse(TWO_BACKENDS.replace("URL", server.url))
    await activator.activate(configuration)
    before = backends._clients["second"]
    await activator.activate(configuration)
    assert backends._clients["second"] is before
    await activator.activate(parse(TWO_BACKENDS.replace("URL/second", f"{server.url}/other")))
    await backends.evaluate(Plan("sum(queue)", "second"))
    assert server.requested[-1].path == "/other/api/v1/query"


async def test_a_backend_that_changed_under_its_name_is_closed(activator, backends, tasks, server):
    server.says = vector()
    brief = TWO_BACKENDS.replace("url: URL/second", "url: URL/second, timeout: 1s")
    await activator.activate(parse(brief.replace("URL", server.url)))
    replaced = backends._clients["second"]
    await replaced.evaluate(Plan("up", "second"))
    await activator.activate(parse(brief.replace("URL/second", f"{server.url}/other")))
    assert backends._clients["second"] is not replaced
    session = replaced._transport._http
    await asyncio.to_thread(
        waiting.until, lambda: session.closed, what="the old connections", deadline_seconds=15
    )


async def test_a_resource_that_is_created_while_a_reload_waits_is_served(
    server, tasks, backends, answers, tmp_path
):
    mapping = FakeMapping()
    default = Backend(url=server.url, timeout_seconds=5.0)
    activator = ConfigurationActivator(
        tmp_path / "config.yaml",
        default=PrometheusClient(default, FileCredentials(default)),
        backends=backends,
        mapping=mapping,
        times=Times(),
        answers=answers,
        tasks=tasks,
    )
    server.says = answer({"status": "success", "data": []})
    await activator.activate(parse("externalRules:\n- {seriesQuery: one, metricsQuery: one}\n"))
    server.says = answer({"status": "success", "data": [{"__name__": "up", "gadget": "g"}]})
    known = {Selection("default", "up"): Listing(series=[Series("up", frozenset({"gadget"}))])}
    activator.catalog.listings.update(known)
    server.may_answer.clear()
    reloading = asyncio.create_task(
        activator.activate(
            parse(
                "rules:\n- {seriesQuery: up, metricsQuery: up, resources: {template: <<.Resource>>}}\n"
            )
        )
    )
    await asyncio.wait_for(server.filled.wait(), 5)
    mapping.kinds.append(Kind("gadgets", "gadget", "Gadget", group="example.io"))
    await activator.resources_changed()
    server.may_answer.set()
    await reloading
    assert [each.metric for each in answers.active.catalog.custom_entries()] == ["up"]


async def test_an_unusable_file_changes_nothing(activator, answers, server, tmp_path):
    await activator.activate(parse(TWO_BACKENDS.replace("URL", server.url)))
    active = answers.active
    broken = TWO_BACKENDS.replace("URL/second}", f"URL, tokenFile: {tmp_path / 'absent'}}}")
    with pytest.raises(ConfigError, match=r"backends\[0\].*cannot be used"):
        await activator.activate(parse(broken.replace("URL", server.url)))
    assert answers.active is active


TENANTS = """
backends:
- {name: team-a, url: URL/prometheus, headers: {X-Scope-OrgID: team-a}}
- {name: team-b, url: URL/prometheus, headers: {X-Scope-OrgID: team-b}}
metrics:
- {name: of_a, query: 'sum(queue)', backend: team-a}
- {name: of_b, query: 'sum(queue)', backend: team-b}
"""


async def test_each_rule_is_evaluated_as_its_own_tenant_and_results_are_not_shared(
    activator, answers, backends, server
):
    server.says = vector(({}, "7"))
    await activator.activate(parse(TENANTS.replace("URL", server.url)))
    answers._evaluator = SharedEvaluations(backends, freshness=Freshness.always(60.0))
    for metric in ("of_a", "of_b", "of_a"):
        request = ExternalMetricRequest(namespace="n", metric=metric, selector=EVERYTHING)
        await answers.external(request)
    assert [(each.path, each.headers["X-Scope-OrgID"]) for each in server.requested] == [
        ("/prometheus/api/v1/query", "team-a"),
        ("/prometheus/api/v1/query", "team-b"),
    ]
