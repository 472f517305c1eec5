"""A configuration becomes active as a whole, and what did not change is kept."""

import asyncio
import contextlib

import pytest

from adapter.config import ConfigError, parse
from adapter.fetch.catalog import Selection, Times
from adapter.fetch.known_series import Listing
from adapter.fetch.prometheus import PrometheusClient
from adapter.fetch.shared_evaluations import SharedEvaluations
from adapter.model import Backend, BackendRef, ExternalMetricRequest, Freshness, Plan, Series
from adapter.ports import QueryFailed
from adapter.runtime.activation import ConfigurationActivator
from adapter.wide.plans import WidePlans
from testbed import waiting
from tests.deadline import DEADLINE_SECONDS
from tests.fakes.adapter import FakeMapping, Kind
from tests.unit.adapter.fetch.canned import answer, vector
from wire.api.labels import EVERYTHING
from wire.api.labels import parse as parse_selector
from wire.api.status import StatusError
from wire.prometheus.access import FileCredentials

TIMES = Times(relist_seconds=600.0, max_age_seconds=600.0)
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
    configuration = parse(TWO_BACKENDS.replace("URL", server.url))
    await activator.activate(configuration)
    before = backends._clients[configuration.backends[0].ref]
    await activator.activate(configuration)
    assert backends._clients[configuration.backends[0].ref] is before


async def test_requests_under_way_are_answered_by_the_former_backend_until_it_is_closed(
    activator, backends, server, tasks, closing
):
    server.says = vector()
    former, new = both_backends(server)
    await activator.activate(former)
    under_way = Plan("sum(queue)", former.rules[0].backend)
    replaced = backends._clients[under_way.backend]
    await activator.activate(new)
    await backends.evaluate(under_way)
    await backends.evaluate(Plan("sum(queue)", new.rules[0].backend))
    assert [each.path for each in server.requested] == [
        "/second/api/v1/query",
        "/other/api/v1/query",
    ]
    session = replaced._transport._pool._newest
    closing.set()
    await asyncio.to_thread(
        waiting.until, lambda: session.closed, what="the old connections", deadline_seconds=15
    )
    with pytest.raises(QueryFailed, match="no backend has that name"):
        await backends.evaluate(under_way)


async def test_a_backend_that_is_changed_back_before_it_was_closed_stays(
    activator, backends, server, tasks, closing
):
    server.says = vector()
    former, new = both_backends(server)
    for each in (former, new, former):
        await activator.activate(each)
    closing.set()
    await asyncio.to_thread(
        waiting.until,
        lambda: new.rules[0].backend not in backends._clients,
        what="the closing of the other backend",
        deadline_seconds=15,
    )
    await backends.evaluate(Plan("sum(queue)", former.rules[0].backend))
    assert server.requested[-1].path == "/second/api/v1/query"


async def test_a_backend_named_default_replaces_that_of_the_flags(activator, answers, server):
    server.says = vector(({}, "7"))
    configuration = TWO_BACKENDS.replace("URL", server.url).replace(", backend: second", "")
    await activator.activate(parse(configuration.replace("second", "default", 1)))
    await answers.external(
        ExternalMetricRequest(namespace="n", metric="queue", selector=EVERYTHING)
    )
    assert server.requested[-1].path == "/second/api/v1/query"


def both_backends(server):
    """A configuration, and the same after its backend moved to another URL."""
    former = TWO_BACKENDS.replace("URL", server.url)
    return parse(former), parse(former.replace("/second", "/other"))


KEPT = """
backends:
- {name: second, url: URL/second}
externalRules:
- {seriesQuery: listed, metricsQuery: listed, backend: second, resources: {namespaced: false}}
metrics:
- name: queue
  query: 'sum(queue) by (namespace, queue)'
  labels: {namespace: namespace}
  backend: second
  signal: {onEmpty: last, lastFor: 1h}
"""


@pytest.fixture
async def kept(activator, backends, answers, server):
    """Everything that is kept of a backend: a result, a wide query, a listing and a last good value."""
    answers._evaluator = SharedEvaluations(backends, freshness=Freshness.always(60.0))
    answers._monotonic = lambda: 1001.0
    activator._new_wide_plans = lambda: WidePlans(
        answers._evaluator, freshness=Freshness.always(60.0)
    )
    server.says = answer({"status": "success", "data": [{"__name__": "listed"}]})
    await activator.activate(parse(KEPT.replace("URL", server.url)))
    await activator.catalog.tried()
    server.says = vector(({"namespace": "n", "queue": "q"}, "7"))
    await answers.external(QUEUE)
    server.says = answer({"status": "success", "data": []})
    server.requested.clear()
    return KEPT.replace("URL", server.url)


QUEUE = ExternalMetricRequest(namespace="n", metric="queue", selector=parse_selector("queue=q"))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(("/second", "/other"), id="the URL"),
        pytest.param(("url:", "headers: {X-Scope-OrgID: b}, url:"), id="a header"),
        pytest.param(("url:", "tokenFile: TOKEN, url:"), id="the token"),
    ],
)
async def test_nothing_that_is_kept_of_a_backend_serves_another_one(
    activator, answers, server, kept, change, tmp_path
):
    token = tmp_path / "token"
    token.write_text("secret")
    known = set(answers.active.wide_plans._queries)
    await activator.activate(parse(kept.replace(*change).replace("TOKEN", str(token))))
    assert [each.path.rpartition("/")[2] for each in server.requested] == ["series"]
    assert answers.active.catalog.external_metrics() == ["queue"]
    server.says = vector()
    with pytest.raises(StatusError):
        await answers.external(QUEUE)
    assert server.requested[-1].path.endswith("/query")
    assert known
    assert len(set(answers.active.wide_plans._queries) - known) == 1


async def test_what_is_kept_of_a_backend_stays_when_only_a_limit_changes(
    activator, answers, server, kept
):
    server.says = vector()  # no row, and not a list of series
    limits = "timeout: 7s, maxConcurrency: 3, verb: POST, url:"
    await activator.activate(parse(kept.replace("url:", limits)))
    assert "listed" in answers.active.catalog.external_metrics()
    assert (await answers.external(QUEUE)).items
    assert not [each for each in server.requested if each.path.endswith("/query")]
    answers._evaluator, activator._new_wide_plans = answers._evaluator._behind, None
    await activator.activate(parse(kept.replace("url:", limits)))
    server.requested.clear()
    assert (await answers.external(QUEUE)).items
    (queried,) = [each for each in server.requested if each.path.endswith("/query")]
    assert queried.method == "POST"


async def test_a_wide_query_that_failed_is_tried_again_after_a_reload(
    activator, backends, answers, server
):
    """The reload may have raised the limit because of which it failed."""
    activator._new_wide_plans = lambda: WidePlans(
        backends, freshness=Freshness(), monotonic=lambda: 0.0
    )
    configuration = KEPT.replace("URL", server.url)

    async def wide_queries() -> int:
        server.requested.clear()
        for number in range(8):
            selector = parse_selector(f"queue=q{number}")
            with contextlib.suppress(StatusError):
                await answers.external(
                    ExternalMetricRequest(namespace="n", metric="queue", selector=selector)
                )
        queries = [each.parameters.get("query", ['queue="q'])[0] for each in server.requested]
        return sum('queue="q' not in each for each in queries)

    server.says = answer({"status": "success", "data": []})
    await activator.activate(parse(configuration))
    await activator.catalog.tried()
    server.says = answer(
        {"status": "error", "errorType": "execution", "error": "too many samples"}, "422 Refused"
    )
    assert await wide_queries() == 1, "it is suspended then"
    # Requests without rows do not share a query.
    server.says = vector(*(({"namespace": "n", "queue": f"q{each}"}, "1") for each in range(8)))
    assert await wide_queries() == 0
    await activator.activate(parse(configuration.replace("url:", "timeout: 7s, url:")))
    assert await wide_queries() > 1


async def test_until_a_reload_is_complete_requests_have_the_former_limits_of_their_backend(
    activator, answers, server
):
    configuration = TWO_BACKENDS.replace("URL", server.url)
    await activator.activate(parse(configuration))
    server.may_answer.clear()
    new = configuration.replace("url:", "verb: POST, url:")
    new += "externalRules:\n- {seriesQuery: one, metricsQuery: one}\n"
    reloading = asyncio.create_task(activator.activate(parse(new)))
    await asyncio.wait_for(server.filled.wait(), DEADLINE_SECONDS)
    queue = ExternalMetricRequest(namespace="n", metric="queue", selector=EVERYTHING)
    requesting = asyncio.create_task(answers.external(queue))
    server.filled_at = 2
    server.filled.clear()
    await asyncio.wait_for(server.filled.wait(), DEADLINE_SECONDS)
    server.says = vector(({}, "7"))
    server.may_answer.set()
    await asyncio.gather(requesting, reloading)
    await answers.external(queue)
    queries = [each for each in server.requested if each.path.endswith("/query")]
    assert [each.method for each in queries] == ["GET", "POST"]


async def test_a_resource_that_is_created_while_a_reload_waits_is_served(
    server, tasks, backends, answers, catalog, tmp_path
):
    mapping = FakeMapping()
    default = Backend(url=server.url, timeout_seconds=DEADLINE_SECONDS)
    activator = ConfigurationActivator(
        tmp_path / "config.yaml",
        default=PrometheusClient(default, FileCredentials(default)),
        backends=backends,
        mapping=mapping,
        times=TIMES,
        answers=answers,
        catalog=catalog,
        tasks=tasks,
    )
    server.says = answer({"status": "success", "data": []})
    await activator.activate(parse("externalRules:\n- {seriesQuery: one, metricsQuery: one}\n"))
    server.says = answer({"status": "success", "data": [{"__name__": "up", "gadget": "g"}]})
    known = {Selection(BackendRef(), "up"): Listing(series=[Series("up", frozenset({"gadget"}))])}
    activator.catalog.listings.update(known)
    server.may_answer.clear()
    reloading = asyncio.create_task(
        activator.activate(
            parse(
                "rules:\n- {seriesQuery: up, metricsQuery: up, resources: {template: <<.Resource>>}}\n"
            )
        )
    )
    await asyncio.wait_for(server.filled.wait(), DEADLINE_SECONDS)
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
