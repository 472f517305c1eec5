"""Wide queries answer what narrow ones would, only where that saves something, and never cause an error."""

import asyncio

import msgspec
import pytest

from adapter.answer.evaluating import own_rows
from adapter.answer.observer import UNOBSERVED
from adapter.answer.query_plan import custom_metric_query, external_metric_query
from adapter.model import (
    FOR_AUTOSCALER,
    PODS,
    CustomMetricRequest,
    DiscoveryRule,
    Evaluation,
    ExternalMetricRequest,
    Freshness,
    NamedRule,
    Offer,
    Reaction,
    ResourceLabels,
    Sample,
    SignalContract,
)
from adapter.ports import QueryFailed
from adapter.promql.row_selection import indexed
from adapter.wide.chunks import NAMESPACES_PER_PLAN
from adapter.wide.demand import FORGOTTEN_SECONDS
from adapter.wide.plans import WidePlans
from tests.fakes.adapter import FakeMapping
from tests.fakes.clock import FakeClock
from tests.unit.adapter.promql.small_promql import evaluate
from wire.api import labels

CONTRACT = SignalContract(on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT)
GROUPED = "sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"
NAMESPACES = [f"team-{number}" for number in range(4)]


class SmallPrometheus:
    """Evaluates queries over one series per pod and queue of each namespace, and records them."""

    def __init__(self, namespaces=NAMESPACES, pods=4):
        self.series = [
            {"__name__": "load", "namespace": namespace, "pod": f"web-{pod}", "queue": f"q{pod}"}
            for namespace in namespaces
            for pod in range(pods)
        ]
        self.requested = []
        self.wide = []
        self.lanes = []  # of the wide ones
        self.failure = None  # (cause, retryable) of queries for several namespaces
        self.partial = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    def clear(self):
        self.requested.clear()
        self.wide.clear()

    async def evaluate(self, plan, sending=FOR_AUTOSCALER):
        self.requested.append(plan)
        if sending.may_post:
            self.wide.append(plan)
            self.lanes.append(sending.lane)
            await self.may_answer.wait()
            if self.failure:
                cause, retryable = self.failure
                raise QueryFailed(
                    backend=plan.backend.name, query=plan.query, cause=cause, retryable=retryable
                )
        rows = evaluate(plan.query, self.series, [float(n) for n in range(len(self.series))])
        evaluation = Evaluation(
            samples=tuple(Sample(dict(key), value, 1_000.0) for key, value in rows.items()),
            evaluated_at_seconds=1_000.0,
            partial=self.partial and sending.may_post,
        )
        return indexed(evaluation, plan.key_labels)


def rule(template=GROUPED, *, external=False):
    return DiscoveryRule(
        path="rules[0]",
        external=external,
        series_query="load",
        resources=ResourceLabels(template="<<.Resource>>"),
        metrics_query=template,
        contract=CONTRACT,
    )


def of_pods(namespace, pods, template=GROUPED):
    request = CustomMetricRequest(
        resource=PODS,
        name="*",
        metric="load",
        selector=labels.parse("app=web"),
        metric_selector=labels.parse(""),
        namespace=namespace,
    )
    return custom_metric_query(request, Offer(rule(template), "load"), FakeMapping(), pods), pods


def of_queue(namespace, selector, template="sum(<<.Series>>{<<.LabelMatchers>>})"):
    request = ExternalMetricRequest(
        namespace=namespace, metric="load", selector=labels.parse(selector)
    )
    offer = Offer(rule(template, external=True), "load")
    return external_metric_query(request, offer, FakeMapping()), ()


PAIRS = [("web-0", "web-1"), ("web-2",)]
REQUESTS = [of_pods(namespace, pods) for namespace in NAMESPACES for pods in PAIRS]


def named(
    namespace, selector, query="sum by (namespace, queue) (load)", namespace_label="namespace"
):
    named_rule = NamedRule(
        path="metrics[0]",
        name="depth",
        query=query,
        namespace_label=namespace_label,
        contract=CONTRACT,
    )
    request = ExternalMetricRequest(
        namespace=namespace, metric="depth", selector=labels.parse(selector)
    )
    return external_metric_query(request, Offer(named_rule), FakeMapping()), ()


class Planner:
    """The wide plans over a small Prometheus, with a fake clock; what they leave is answered by narrow queries."""

    def __init__(self, prometheus=None, **settings):
        self.prometheus = prometheus or SmallPrometheus()
        self.clock = FakeClock()
        settings = {"freshness": Freshness(), **settings}
        self.plans = WidePlans(self.prometheus, monotonic=self.clock, **settings)

    async def period(self, requests=REQUESTS, *, seconds=1.0):
        """All requests at once, after a while: for each its rows, and whether a wide query returned them."""
        self.clock.seconds += seconds
        answers = []
        for query, names in requests:
            found = await self.plans.evaluation_for(query.wide, query.plan.query, names)
            if found is not None:
                own = await own_rows(self.prometheus, query, names, UNOBSERVED)
                assert rows_of(found) == rows_of(own)
            answers.append(found is not None)
        return answers

    async def explained(self, query, names):
        return await self.plans.evaluation_for(query.wide, query.plan.query, names, explains=True)


def rows_of(evaluation):
    return [(dict(each.labels), each.value) for each in evaluation.samples]


async def test_after_the_first_period_one_query_answers_all_requests():
    planner = Planner()
    assert await planner.period() == [False] * 3 + [True] + [False] * 4
    planner.prometheus.clear()
    assert await planner.period() == [True] * 8
    assert {plan.query for plan in planner.prometheus.wide} == {
        'sum(load{namespace=~"team-0|team-1|team-2|team-3",pod!=""}) by (pod,namespace)'
    }


async def test_a_result_that_may_be_served_again_is_not_waited_for():
    kept = {}
    planner = Planner(fresh=lambda plans: [kept[plan] for plan in plans] if kept else None)
    await planner.period()
    await planner.period()
    kept |= {plan: await planner.prometheus.evaluate(plan) for plan in planner.prometheus.wide}
    planner.prometheus.clear()
    assert await planner.period() == [True] * 8
    assert planner.prometheus.wide == []
    kept.clear()
    assert await planner.period() == [True] * 8
    assert len(planner.prometheus.wide) == 8


async def test_an_incomplete_result_is_not_served_again_and_suspends_the_wide_query():
    kept = {}
    planner = Planner(fresh=lambda plans: [kept[plan] for plan in plans] if kept else None)
    await planner.period()
    await planner.period()
    for plan in planner.prometheus.wide:
        found = await planner.prometheus.evaluate(plan)
        kept[plan] = msgspec.structs.replace(found, partial=True)
    planner.prometheus.partial = True
    assert await planner.period() == [False] * 8
    planner.prometheus.partial = False
    kept.clear()
    assert await planner.period() == [False] * 8


async def test_a_lone_autoscaler_keeps_its_own_query():
    planner = Planner()
    for _ in range(20):
        assert await planner.period(REQUESTS[:1], seconds=15.0) == [False]
    assert planner.prometheus.wide == []


async def test_autoscalers_that_never_meet_in_one_period_keep_their_own_queries():
    planner = Planner()
    for _ in range(5):
        for request in REQUESTS:
            assert await planner.period([request], seconds=2.0) == [False]


async def test_a_new_namespace_has_its_own_query_until_the_next_period():
    planner = Planner(SmallPrometheus([*NAMESPACES, "new"]))
    await planner.period()
    await planner.period()
    new = of_pods("new", ("web-1",))
    assert await planner.period([*REQUESTS, new], seconds=0.1) == [True] * 8 + [False]
    assert (await planner.period([*REQUESTS, new]))[-1]


async def test_namespaces_that_are_no_longer_requested_are_no_longer_selected():
    planner = Planner()
    await planner.period()
    staying = [each for each in REQUESTS if 'namespace="team-0"' not in each[0].plan.query]
    for _ in range(25):
        await planner.period(staying, seconds=15.0)
    assert "team-0" not in planner.prometheus.wide[-1].query
    assert "team-1" in planner.prometheus.wide[-1].query


async def test_namespaces_are_forgotten_also_while_the_wide_query_is_not_worthwhile():
    old = [f"old-{number}" for number in range(NAMESPACES_PER_PLAN - 1)]
    planner = Planner(SmallPrometheus([*old, *NAMESPACES], pods=1))
    for namespace in old:
        assert await planner.period([of_pods(namespace, ("web-0",))]) == [False]
    assert planner.prometheus.wide == []
    requests = [of_pods(namespace, ("web-0",)) for namespace in NAMESPACES]
    await planner.period(requests, seconds=FORGOTTEN_SECONDS + 1.0)
    assert await planner.period(requests) == [True] * 4, "none is in a plan full of old ones"
    assert all("old-" not in plan.query for plan in planner.prometheus.wide)


async def test_new_namespaces_do_not_cause_a_large_query_more_often_than_it_is_evaluated():
    prometheus = SmallPrometheus([*NAMESPACES, "new"], pods=500)
    planner = Planner(prometheus)
    pods = [f"web-{number}" for number in range(400)]
    requests = [of_pods(namespace, pods) for namespace in NAMESPACES] * 2
    await planner.period(requests)
    await planner.period(requests, seconds=3.0)
    assert await planner.period(requests, seconds=3.0) == [True] * 8
    new = of_pods("new", pods)
    for seconds in (0.5, 0.6):
        assert await planner.period([*requests, new], seconds=seconds) == [True] * 8 + [False]
    assert await planner.period([*requests, new]) == [True] * 9, "after a second per 1,000 rows"


@pytest.mark.parametrize(
    ("failure", "seconds"),
    [
        pytest.param(("many-to-many matching not allowed", False), 600.0, id="refused"),
        pytest.param(("no connection", True), 30.0, id="failed"),
    ],
)
async def test_where_the_wide_query_fails_narrow_queries_answer_for_a_while(failure, seconds):
    planner = Planner()
    await planner.period()
    planner.prometheus.failure = failure
    assert await planner.period() == [False] * 8
    sent = len(planner.prometheus.wide)
    planner.prometheus.failure = None
    assert await planner.period(seconds=seconds - 2.0) == [False] * 8
    assert len(planner.prometheus.wide) == sent
    await planner.period(seconds=3.0)
    assert await planner.period() == [True] * 8


async def test_a_slow_wide_query_does_not_delay_the_requests():
    planner = Planner(wait_seconds=0.01)
    await planner.period()
    planner.prometheus.may_answer.clear()
    assert await planner.period() == [False] * 8


async def test_a_partial_result_is_not_used():
    planner = Planner()
    planner.prometheus.partial = True
    await planner.period()
    assert await planner.period() == [False] * 8


async def test_a_wide_query_with_far_more_rows_than_are_requested_is_not_used():
    planner = Planner(SmallPrometheus(pods=800))
    await planner.period()
    await planner.period(seconds=3.0)
    for _ in range(3):
        assert await planner.period() == [False] * 8


async def test_several_rows_for_one_object_are_left_to_the_narrow_query():
    template = "<<.Series>>{<<.LabelMatchers>>}"
    prometheus = SmallPrometheus()
    prometheus.series += [{**each, "port": "8080"} for each in prometheus.series]
    planner = Planner(prometheus)
    requests = [of_pods(namespace, pods, template) for namespace in NAMESPACES for pods in PAIRS]
    await planner.period(requests)
    assert await planner.period(requests) == [False] * 8


async def test_the_labels_that_a_wide_query_adds_are_not_returned():
    requests = [of_queue(namespace, f"queue=q{n}") for namespace in NAMESPACES for n in range(4)]
    planner = Planner()
    await planner.period(requests)
    planner.prometheus.clear()
    assert await planner.period(requests) == [True] * 16
    assert len({plan.query for plan in planner.prometheus.wide}) == 1


async def test_labels_that_are_not_set_equal_to_one_value_stay_in_the_query():
    requests = [of_queue(each, "queue=q1,pod in (web-1,web-2)") for each in NAMESPACES]
    planner = Planner()
    await planner.period(requests)
    assert await planner.period(requests) == [True] * 4
    assert 'pod=~"web-1|web-2"' in planner.prometheus.wide[-1].query


@pytest.mark.parametrize(
    ("query", "namespace_label"),
    [
        pytest.param("sum by (namespace, queue) (load)", "namespace", id="labels in the result"),
        pytest.param("sum by (namespace) (load)", "namespace", id="the selector's label is added"),
        pytest.param("sum(load)", "", id="for all namespaces"),
        pytest.param("sum by (namespace) (load{<<.LabelMatchers>>})", "namespace", id="a template"),
    ],
)
async def test_named_metrics_share_a_query_for_all_values_of_a_selector(query, namespace_label):
    requests = [
        named(namespace, f"queue=q{number}", query, namespace_label)
        for namespace in NAMESPACES
        for number in range(4)
    ]
    planner = Planner()
    await planner.period(requests)
    planner.prometheus.clear()
    assert await planner.period(requests) == [True] * 16
    assert len({plan.query for plan in planner.prometheus.wide}) == 1


@pytest.mark.parametrize(
    "template",
    [
        pytest.param("topk(1, <<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)", id="not proven"),
        pytest.param(
            'sum(<<.Series>>{namespace="<<index .LabelValuesByName "namespace">>",pod!=""}) by (<<.GroupBy>>)',
            id="reads values",
        ),
        pytest.param(
            "<<if .GroupBy>>sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)<<end>>",
            id="depends on its fields",
        ),
    ],
)
def test_a_template_without_proof_has_no_wide_query(template):
    query, _ = of_pods("team-0", ("web-0", "web-1"), template)
    assert query.wide is None


@pytest.mark.parametrize("namespace", ["a|b", "A", ".*", "", 'x"', "a.b"])
def test_a_namespace_that_kubernetes_would_not_accept_is_never_in_a_wide_query(namespace):
    query, _ = of_queue(namespace, "queue=q1")
    assert query.wide is None or not query.wide.namespace
