"""An explanation is recorded from the answer itself, so it shows what was answered."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from adapter.answer import ActiveConfiguration, Answers, MetricPaths
from adapter.commands.explain_text import text_of
from adapter.config import parse
from adapter.diagnosis.explainer import Explainer
from adapter.diagnosis.explanation import Explanation
from adapter.documents.paths import VERSIONS
from adapter.model import (
    PODS,
    BackendRef,
    Evaluation,
    Freshness,
    Gap,
    KubeObject,
    ListedRule,
    MetricEntry,
    Offer,
    Sample,
    Series,
)
from adapter.ports import QueryFailed
from adapter.wide.plans import WidePlans
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus, vector

CONFIGURATION = parse(
    """
rules:
- seriesQuery: load
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
metrics:
- {name: named, describes: pods, query: named}
- {name: aged, describes: pods, query: aged, signal: {onStale: fail, staleAfter: 1m}}
- {name: zeros, describes: pods, query: zeros, signal: {onEmpty: zero}}
- {name: omitted, describes: pods, query: omitted, signal: {onEmpty: omit, onNaN: omit}}
- {name: depth, query: depth, signal: {onNaN: zero}}
"""
)
LOAD, NAMED, AGED, ZEROS, OMITTED, DEPTH = CONFIGURATION.rules
QUERY = 'sum(load{namespace="n",pod="p"}) by (pod)'
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/n"
ROOT = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/n"
SERIES = (Series("load", frozenset({"namespace", "pod"})),)


def explainer(
    prometheus: FakePrometheus,
    catalog: FakeCatalog | None = None,
    *,
    pods: Sequence[str] = ("p",),
    wide_plans: WidePlans | None = None,
) -> Explainer:
    offers = {
        MetricEntry(PODS, True, "load"): Offer(LOAD, "load"),
        MetricEntry(PODS, True, "named"): Offer(NAMED),
        MetricEntry(PODS, True, "aged"): Offer(AGED),
        MetricEntry(PODS, True, "zeros"): Offer(ZEROS),
        MetricEntry(PODS, True, "omitted"): Offer(OMITTED),
    }
    listed = [ListedRule(LOAD, SERIES), ListedRule(NAMED)]
    catalog = catalog or FakeCatalog(offers, {"depth": Offer(DEPTH)}, listed=listed)
    mapping = FakeMapping()
    answers = Answers(
        evaluator=prometheus,
        objects=FakeObjects(
            {PODS: [KubeObject(name=name, namespace="n", labels={"app": "a"}) for name in pods]}
        ),
        mapping=mapping,
        active=ActiveConfiguration(catalog=catalog, groups=tuple(VERSIONS), wide_plans=wide_plans),
        now=lambda: 1_000.0,
        monotonic=lambda: 1_000.0,
    )
    paths = MetricPaths(lambda: answers.active)
    return Explainer(answers, paths, index=prometheus, mapping=mapping, monotonic=lambda: 1_000.0)


async def test_the_explanation_shows_what_is_answered():
    explanation = await explainer(FakePrometheus({QUERY: vector(({"pod": "p"}, 1.5))})).explain(
        f"{ROOT}/pods/*/load?labelSelector=app%3Da"
    )
    assert (explanation.code, explanation.ended_at, explanation.findings) == (200, "", ())
    assert [each.query for each in explanation.queries] == [QUERY]
    assert [(each.of, each.value) for each in explanation.values] == [("p", "1500m")]
    text = text_of("Pods metric load", explanation)
    for line in (
        "Pods metric load",
        "objects  p",
        f"query    {QUERY}",
        "samples  1 row (vector)",
        "p = 1500m",
    ):
        assert line in text


@pytest.mark.parametrize("retryable", [True, False])
async def test_a_failing_prometheus_is_distinguished_from_a_refused_query(retryable):
    failed = QueryFailed(backend="default", query=QUERY, cause="it said no", retryable=retryable)
    explanation = await explainer(FakePrometheus({QUERY: failed})).explain(f"{ROOT}/pods/p/load")
    assert explanation.ended_at == "samples"
    assert [each.reason for each in explanation.findings] == [
        "PrometheusDown" if retryable else "QueryRefused"
    ]
    assert "it said no" in explanation.findings[0].message


@pytest.mark.parametrize(
    ("evaluation", "reason"),
    [
        pytest.param(vector(), "NoRows", id="no rows"),
        pytest.param(vector(({"pod": "other", "namespace": "n"}, 1.0)), "NoRows", id="rows of others"),
        pytest.param(vector(({"pod": "p", "namespace": "n"}, float("nan"))), "NotANumber", id="NaN"),
        pytest.param(vector(({"pod": "p", "namespace": "n"}, float("inf"))), "NotANumber", id="infinity"),
        pytest.param(vector(({"pod": "p", "namespace": "n"}, 1e17)), "NotANumber", id="more than an int64 has in thousandths"),
        pytest.param(msgspec.structs.replace(vector(({"pod": "p", "namespace": "n"}, 1.0)), partial=True), "PartialAnswer", id="a part"),
    ],
)  # fmt: skip
async def test_a_value_that_may_not_be_used_is_named(evaluation, reason):
    explanation = await explainer(FakePrometheus({"named": evaluation})).explain(
        f"{ROOT}/pods/p/named"
    )
    assert (explanation.ended_at, explanation.findings[0].reason) == ("value", reason)
    assert explanation.code >= 400


async def test_a_sample_that_is_too_old_is_named():
    row = {"pod": "p", "namespace": "n"}
    # Every other query about the sample says that it is of the second 900.
    prometheus = FakePrometheus(
        {"aged": vector((row, 1.0), at_seconds=900.0)}, otherwise=vector((row, 900.0))
    )
    explanation = await explainer(prometheus).explain(f"{ROOT}/pods/p/aged")
    assert (explanation.ended_at, explanation.findings[0].reason) == ("value", "StaleSample")
    assert "100s old" in explanation.findings[0].message


@pytest.mark.parametrize(
    ("path", "rows", "code", "says"),
    [
        pytest.param(f"{ROOT}/pods/*/zeros", [("p", 1.0)], 200, "none for q; this counts as 0", id="a list with a 0"),
        pytest.param(f"{ROOT}/pods/p/omitted", [], 404, "this is an error (404)", id="nothing to leave out"),
        pytest.param(f"{EXTERNAL}/depth", [("p", math.inf)], 500, "this is an error (500)", id="infinity is not 0"),
    ],
)  # fmt: skip
async def test_a_finding_says_what_the_response_has(path, rows, code, says):
    found = vector(*(({"pod": pod, "namespace": "n"}, value) for pod, value in rows))
    explanation = await explainer(FakePrometheus(otherwise=found), pods=("p", "q")).explain(path)
    assert explanation.code == code
    [finding] = explanation.findings
    assert says in finding.message


async def test_where_a_wide_query_answers_the_explanation_is_about_its_rows():
    plans = SharedRows(vector(({"pod": "p"}, math.nan)))
    explanation = await explainer(FakePrometheus(), wide_plans=plans).explain(f"{ROOT}/pods/p/load")
    assert (explanation.code, explanation.is_shared) == (200, True), "its own query fails"
    assert [each.value for each in explanation.values] == ["0"]
    [finding] = explanation.findings
    assert "NaN for p; because of signal.onNaN, this counts as 0" in finding.message


async def test_an_error_because_of_the_rows_of_a_wide_query_is_about_them():
    plans = SharedRows(vector(({"pod": "p"}, math.inf)))
    explanation = await explainer(FakePrometheus(), wide_plans=plans).explain(f"{ROOT}/pods/p/load")
    assert (explanation.code, explanation.findings[0].reason) == (500, "NotANumber")


class SharedRows(WidePlans):
    """A wide query with these rows for every request."""

    def __init__(self, rows: Evaluation) -> None:
        super().__init__(FakePrometheus(), freshness=Freshness())
        self.rows_of_all = rows

    async def evaluation_for(self, *_: object, **__: object) -> Evaluation:
        return self.rows_of_all


HISTOGRAM = Evaluation(
    samples=(Sample({"pod": "p", "namespace": "n"}, math.nan, 1_000.0, is_histogram=True),),
    evaluated_at_seconds=1_000.0,
)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        pytest.param(HISTOGRAM, "a native histogram", id="a histogram"),
        pytest.param(vector(({"pod": "p", "namespace": "n"}, math.inf)), "inf", id="infinity"),
        pytest.param(vector(), "has no row", id="nothing"),
    ],
)
async def test_a_single_value_that_is_left_out_is_404_for_the_reason_of_its_finding(rows, says):
    explanation = await explainer(FakePrometheus({"omitted": rows})).explain(
        f"{ROOT}/pods/p/omitted"
    )
    assert explanation.code == 404
    assert says in explanation.message.lower()
    assert ("has no row" in explanation.message) is (rows.samples == ())


async def test_an_explanation_that_a_reload_interrupts_is_about_one_configuration():
    class Reloading(FakePrometheus):
        async def series(self, **_: object) -> Sequence[Series]:
            explaining._answers.active = ActiveConfiguration(catalog=FakeCatalog())
            return ()

    explaining = explainer(Reloading())
    explanation = await explaining.explain(f"{ROOT}/pods/p/loaf")
    assert not explaining._answers.active.groups, "the new configuration has no metrics"
    assert explanation.findings[0].reason == "NoRule"
    assert "pods/load" in explanation.similar


async def test_rows_of_other_objects_are_counted_and_not_shown():
    rows = vector(
        ({"pod": "p", "namespace": "n"}, 1.0),
        ({"pod": "p", "namespace": "secret"}, 2.0),
        ({"pod": "q", "namespace": "n"}, 3.0),
    )
    [query] = (
        await explainer(FakePrometheus({"named": rows})).explain(f"{ROOT}/pods/p/named")
    ).queries
    assert (query.rows_returned, query.rows_counted) == (3, 1)
    assert [row.labels["namespace"] for row in query.rows] == ["n"]


@pytest.mark.parametrize("temporary", [True, False])
async def test_a_rule_that_was_never_listed_is_reported(temporary):
    gap = Gap(rule="rules[0]", cause="the cause", temporary=temporary)
    catalog = FakeCatalog(gaps=[gap], listed=[ListedRule(LOAD, None)])
    explanation = await explainer(FakePrometheus(), catalog).explain(f"{ROOT}/pods/p/load")
    assert explanation.findings[0].reason == ("PrometheusDown" if temporary else "SeriesNotListed")
    assert "rules[0]: the cause" in explanation.findings[0].message


DEFAULT_RULES = Path(__file__).parents[4] / "charts" / "adapter" / "files" / "default-rules.yaml"


@pytest.mark.parametrize(
    ("known", "series", "message"),
    [
        pytest.param({}, "foo", "its name would be foo", id="nothing of that name"),
        pytest.param({"foo_total": ("job",)}, "foo_total", "seriesQuery does not select it", id="a counter without a namespace"),
    ],
)  # fmt: skip
async def test_of_many_rules_that_might_serve_it_the_most_likely_is_named(known, series, message):
    """The chart's default rules would each make `foo` out of some series."""
    rules = parse("rules:\n" + DEFAULT_RULES.read_text()).rules
    there = {
        f'{{__name__="{name}"}}': [Series(name, frozenset(labels))]
        for name, labels in known.items()
    }
    catalog = FakeCatalog(listed=[ListedRule(rule, ()) for rule in rules])
    explanation = await explainer(FakePrometheus(series=there), catalog).explain(
        f"{ROOT}/pods/p/foo"
    )
    [finding] = explanation.findings
    assert finding.reason == "NoSeries"
    assert series in finding.message
    assert message in finding.message


async def test_a_path_without_the_namespace_it_needs_is_reported():
    path = "/apis/custom.metrics.k8s.io/v1beta1/pods/p/load"
    explanation = await explainer(FakePrometheus()).explain(path)
    assert explanation.findings[0].reason == "WrongScope"
    assert "/namespaces/NAMESPACE/pods/NAME/load" in explanation.findings[0].fix


async def test_the_document_for_programs_keeps_its_names():
    explanation = await explainer(FakePrometheus({QUERY: vector(({"pod": "p"}, 1.5))})).explain(
        f"{ROOT}/pods/*/load"
    )
    document = msgspec.json.decode(msgspec.json.encode(explanation))
    assert list(document) == [
        "path",
        "code",
        "message",
        "endedAt",
        "request",
        "rule",
        "objects",
        "queries",
        "isShared",
        "valueCount",
        "values",
        "findings",
        "similar",
        "servedBy",
        "schema",
    ]
    assert list(document["request"]) == [
        "api",
        "resource",
        "namespace",
        "name",
        "metric",
        "selector",
        "metricSelector",
    ]
    assert list(document["queries"][0]) == [
        "backend",
        "query",
        "result",
        "rowsReturned",
        "rowsCounted",
        "rows",
        "rowLabels",
        "warnings",
        "partial",
    ]
    assert list(document["rule"]) == ["path", "backend", "series", "template"]
    assert msgspec.convert(document, Explanation) == explanation


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/apis",
        "/apis/custom.metrics.k8s.io",
        "/apis/custom.metrics.k8s.io/v1beta1",
        "/apis/custom.metrics.k8s.io/v9/a/b/c",
        "//",
        "?",
        "/apis//v1/x",
    ],
)
async def test_an_invalid_path_is_reported_and_never_raised(path):
    explanation = await explainer(FakePrometheus()).explain(path)
    assert (explanation.ended_at, explanation.findings[0].reason) == ("request", "BadRequest")
    for api in VERSIONS:
        assert f"/apis/{api}/v1beta" in explanation.findings[0].fix
    assert "v1beta2" in explanation.findings[0].fix


async def test_a_missing_series_is_searched_escaped_and_on_the_backend_of_the_rule():
    rule = msgspec.structs.replace(LOAD, backend=BackendRef("second"))
    catalog = FakeCatalog(listed=[ListedRule(rule, ())])
    prometheus = FakePrometheus()
    await explainer(prometheus, catalog).explain(f"{ROOT}/pods/p/load")
    assert ('{__name__="load"}', BackendRef("second")) in [
        found[:2] for found in prometheus.matched
    ]
    prometheus.matched.clear()
    await explainer(prometheus, catalog).explain(f"{ROOT}/pods/p/a%22%5Cb")
    searched = {match for match, _, _ in prometheus.matched}
    assert '{__name__="a\\"\\\\b"}' in searched


async def test_series_of_another_backend_do_not_count_for_a_rule():
    rule = msgspec.structs.replace(
        LOAD, backend=BackendRef("second"), series_query='load{namespace!="",zone="a"}'
    )
    catalog = FakeCatalog(listed=[ListedRule(rule, ())])
    seen = {'{__name__="load"}': [Series("load", frozenset({"namespace"}))]}
    prometheus = OneBackend(BackendRef(), seen)
    [finding] = (await explainer(prometheus, catalog).explain(f"{ROOT}/pods/p/load")).findings
    assert "Prometheus has no series for it" in finding.message
    prometheus = OneBackend(BackendRef("second"), seen)
    [finding] = (await explainer(prometheus, catalog).explain(f"{ROOT}/pods/p/load")).findings
    assert "does not select it" in finding.message


class OneBackend(FakePrometheus):
    """Has its series on one backend only."""

    def __init__(self, backend: BackendRef, series: Mapping[str, Sequence[Series]]) -> None:
        super().__init__(series=series)
        self.backend = backend

    async def series(self, *, backend: BackendRef, **listing: object):
        found = await super().series(backend=backend, **listing)
        return found if backend == self.backend else ()
