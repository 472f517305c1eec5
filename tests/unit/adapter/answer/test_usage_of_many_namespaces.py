"""`kubectl top pods -A` costs two queries, and answers what a query per namespace would."""

import pytest

from adapter.answer import ActiveConfiguration, Answers
from adapter.diagnosis.trace import Trace
from adapter.model import (
    NODES,
    PODS,
    Evaluation,
    Freshness,
    KubeObject,
    Lane,
    ResourceLabels,
    ResourceMetricRequest,
    ResourceRule,
    ResourceRules,
    Sample,
)
from adapter.ports import QueryFailed
from adapter.promql.row_selection import indexed
from adapter.wide.plans import WidePlans
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects
from tests.unit.adapter.promql.small_promql import evaluate
from wire.api import labels

NAMESPACES = [f"team-{number}" for number in range(6)]
PODS_THERE = [
    KubeObject(name=f"web-{pod}", namespace=namespace) for namespace in NAMESPACES for pod in "12"
]
SERIES = [
    {"__name__": name, "namespace": pod.namespace, "pod": pod.name, "container": container}
    for name in ("cpu", "memory")
    for pod in PODS_THERE
    for container in ("app", "proxy")
    if (name, pod.namespace, pod.name) != ("memory", "team-3", "web-2")
]


def rule(name):
    return ResourceRule(
        path=f"resourceRules.{name}",
        container_query=f"sum({name}{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)",
        node_query=f"sum({name}{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)",
        resources=ResourceLabels(template="<<.Resource>>"),
        container_label="container",
    )


class Usage:
    """Evaluates queries over the series, and counts them; queries for several namespaces may fail."""

    def __init__(self, *, wide_fails=False):
        self.wide_fails = wide_fails
        self.narrow_fails = False
        self.queries = []
        self.lanes = []

    async def evaluate(self, plan, sending):
        self.queries.append(plan.query)
        self.lanes.append(sending.lane)
        if self.narrow_fails and not plan.key_labels:
            raise QueryFailed(backend="", query=plan.query, cause="away", retryable=True)
        if self.wide_fails and plan.key_labels:
            raise QueryFailed(backend="", query=plan.query, cause="too many", retryable=False)
        rows = evaluate(plan.query, SERIES, [float(n) for n in range(len(SERIES))])
        samples = tuple(Sample(dict(key), value, 1_000.0) for key, value in rows.items())
        found = Evaluation(samples=samples, evaluated_at_seconds=1_000.0)
        return indexed(found, plan.key_labels)


def answers(usage, *, wide=True):
    return Answers(
        evaluator=usage,
        objects=FakeObjects({PODS: PODS_THERE, NODES: []}),
        mapping=FakeMapping(),
        active=ActiveConfiguration(
            catalog=FakeCatalog(),
            resource_rules=ResourceRules(
                cpu=rule("cpu"), memory=rule("memory"), window_seconds=60.0
            ),
            wide_plans=WidePlans(usage, freshness=Freshness()) if wide else None,
        ),
        now=lambda: 1_000.0,
        monotonic=lambda: 1_000.0,
    )


def of_pods(namespace=""):
    return ResourceMetricRequest(resource=PODS, selector=labels.parse(""), namespace=namespace)


async def test_all_namespaces_cost_two_queries_and_have_the_same_usage():
    together, separate = Usage(), Usage()
    found = await answers(together).usage(of_pods())
    assert found == await answers(separate, wide=False).usage(of_pods())
    assert len(found.items) == 11
    assert (len(together.queries), len(separate.queries)) == (2, 12)


@pytest.mark.parametrize("resource", [PODS, NODES])
async def test_a_list_without_objects_is_empty_and_costs_no_query(resource):
    usage = Usage()
    nothing = ResourceMetricRequest(resource=resource, selector=labels.parse("app=none"))
    assert (await answers(usage).usage(nothing)).items == []
    assert usage.queries == []


async def test_where_the_common_queries_fail_each_namespace_has_its_own():
    usage = Usage(wide_fails=True)
    found = await answers(usage).usage(of_pods())
    assert len(found.items) == 11
    assert len(usage.queries) == 14


async def test_common_queries_that_fail_are_not_repeated_by_the_next_list():
    usage = Usage(wide_fails=True)
    answering = answers(usage)
    await answering.usage(of_pods())
    usage.queries.clear()
    assert len((await answering.usage(of_pods())).items) == 11
    assert len(usage.queries) == 12


async def test_a_list_that_fails_does_not_take_the_shared_queries_of_autoscalers_away():
    usage = Usage(wide_fails=True)
    answering = answers(usage)
    await answering.usage(of_pods())
    usage.wide_fails = False
    usage.queries.clear()
    for namespace in NAMESPACES * 2:
        await answering.usage(of_pods(namespace))
    assert any(query.count("team-") > 1 for query in usage.queries)


@pytest.mark.parametrize("namespace", NAMESPACES[:1])
async def test_one_namespace_alone_has_its_own_queries(namespace):
    usage = Usage()
    await answers(usage).usage(of_pods(namespace))
    assert all(f'namespace="{namespace}"' in query for query in usage.queries)


async def test_autoscalers_on_resource_metrics_of_many_namespaces_share_queries():
    usage = Usage()
    answering = answers(usage)
    for _ in range(2):
        for namespace in NAMESPACES:
            await answering.usage(of_pods(namespace))
    assert any(query.count("team-") > 1 for query in usage.queries)


@pytest.mark.parametrize("narrow_fails", [False, True], ids=["shown", "not shown"])
@pytest.mark.parametrize("namespace", ["", *NAMESPACES[:1]], ids=["all namespaces", "one"])
async def test_an_explanation_has_the_usage_that_is_served(namespace, narrow_fails):
    usage = Usage()
    answering = answers(usage)
    for each in NAMESPACES * 2:
        await answering.usage(of_pods(each))
    served = await answering.usage(of_pods(namespace))
    usage.lanes.clear()
    usage.narrow_fails = narrow_fails
    trace = Trace()
    assert await answering.usage(of_pods(namespace), trace) == served
    assert trace.is_shared
    assert set(usage.lanes) == {Lane.COMMAND}
    assert all(each.query.count("team-") == 1 for each in trace.queries())


async def test_an_explanation_of_usage_has_no_common_queries_while_they_are_suspended():
    usage = Usage(wide_fails=True)
    answering = answers(usage)
    await answering.usage(of_pods())
    usage.wide_fails = False
    trace = Trace()
    await answering.usage(of_pods(), trace)
    assert not trace.is_shared
