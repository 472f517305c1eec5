"""No field of a LoadAutoscaler makes the scaler read recorded load of another namespace: it may read all of them, and shows what it has read.

The adapter explains each request by its own code, over rules of every kind.
"""

import asyncio
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.answer import ActiveConfiguration, Answers, MetricPaths
from adapter.config import parse
from adapter.diagnosis.explainer import Explainer
from adapter.documents.paths import VERSIONS
from adapter.model import (
    NAMESPACES,
    PODS,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    GroupResource,
    KubeObject,
    MetricEntry,
    Offer,
)
from adapter.promql.selectors import selectors
from scaler.api.autoscaler import CrossVersionObjectReference, MetricSpec
from scaler.cluster.forecast.load_query import NoRecordedLoad, load_query
from scaler.cluster.metrics.custom import CustomMetrics
from scaler.cluster.metrics.external import external_metric, external_path
from scaler.cluster.metrics.metrics_api import MetricUnavailable
from tests.fakes.adapter import FakeCatalog, FakeMapping, FakeObjects, FakePrometheus, vector
from tests.fakes.scaler import FakeMapper, resource
from wire.api.labels import NOTHING, from_label_selector
from wire.api.status import StatusError

OWN, OTHER = "shop", "bank"
INGRESSES = GroupResource("ingresses", "networking.k8s.io")
MAPPER = FakeMapper(
    resource("", "v1", "pods", "Pod"),
    resource("", "v1", "namespaces", "Namespace"),
    resource("", "v1", "nodes", "Node"),
    resource("networking.k8s.io", "v1", "ingresses", "Ingress"),
)
CONFIGURATION = parse(
    """
rules:
- seriesQuery: load
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: load
  resources: {template: '<<.Resource>>'}
  metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'
metrics:
- {name: pods, describes: pods, query: 'sum by (namespace, pod) (load)'}
- {name: ingresses, describes: ingresses.networking.k8s.io, query: 'sum by (namespace, ingress) (load)'}
- {name: namespaces, describes: namespaces, query: 'sum by (namespace) (load)'}
- {name: external, query: 'sum by (namespace) (load)', labels: {namespace: namespace}}
"""
)
RULE = {each.path: each for each in CONFIGURATION.rules}
NAMED = {
    PODS: RULE["metrics[0]"],
    INGRESSES: RULE["metrics[1]"],
    NAMESPACES: RULE["metrics[2]"],
}
ROWS = vector(
    *(({"namespace": namespace, "pod": "web", "ingress": "web"}, 1.0) for namespace in (OWN, OTHER))
)
POD_ROWS = vector(
    *(({"namespace": at, "pod": pod}, 1.0) for at in (OWN, OTHER) for pod in ("web", "api"))
)
WEB = CrossVersionObjectReference(kind="Deployment", name="web", api_version="apps/v1")
OBJECTS = [KubeObject(name=name, namespace=at) for at in (OWN, OTHER) for name in ("web", "api")]


class Catalog(FakeCatalog):
    """Serves every name of a metric, by rules that name their query or by those that do not."""

    def __init__(self, *, is_named: bool) -> None:
        super().__init__()
        self.is_named = is_named

    def custom(self, entry: MetricEntry) -> Offer | None:
        if entry.namespaced is not FakeMapping().is_namespaced(entry.resource):
            return None
        if not self.is_named:
            return Offer(RULE["rules[0]"], "load")
        rule = NAMED.get(entry.resource)
        return None if rule is None else Offer(rule)

    def external(self, metric: str) -> Offer:
        if self.is_named:
            return Offer(RULE["metrics[3]"])
        return Offer(RULE["externalRules[0]"], "load")


class Adapter:
    """The explanations of the adapter, and the paths of requests."""

    def __init__(self, *, is_named: bool, rows: Evaluation = ROWS) -> None:
        answers = Answers(
            evaluator=FakePrometheus(otherwise=rows),
            objects=FakeObjects({PODS: OBJECTS, INGRESSES: OBJECTS}),
            mapping=FakeMapping(),
            active=ActiveConfiguration(catalog=Catalog(is_named=is_named), groups=tuple(VERSIONS)),
            now=lambda: 1_000.0,
        )
        self.paths = MetricPaths(lambda: answers.active)
        self.explainer = Explainer(
            answers, self.paths, index=FakePrometheus(), mapping=FakeMapping()
        )
        self.requested: list[str] = []

    async def get(self, path: str, params: Mapping[str, str] | None = None, **_: object) -> bytes:
        if params and "path" in params:
            return msgspec.json.encode(await self.explainer.explain(params["path"]))
        self.requested.append(path)
        raise StatusError("recorded", code=404, reason="NotFound")


SPECIAL = ("*", ".*", "web|api", "..", "a/b", "%2A", f"../../{OTHER}/pods/web", 'web"}', "?", "#")
TEXTS = st.sampled_from(["web", *SPECIAL]) | st.text(min_size=1, max_size=12)
REQUIREMENTS = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["namespace", "pod", "queue"]),
        "operator": st.sampled_from(["In", "NotIn"]),
        "values": st.lists(st.sampled_from([OWN, OTHER, "web"]), min_size=1, max_size=2),
    }
)
SELECTORS = st.none() | st.fixed_dictionaries(
    {
        "matchLabels": st.dictionaries(
            st.sampled_from(["namespace", "pod"]), st.sampled_from([OWN, OTHER, "", "web"])
        ),
        "matchExpressions": st.lists(REQUIREMENTS, max_size=2),
    }
)
KNOWN_KINDS = (
    ("Pod", "v1"),
    ("Ingress", "networking.k8s.io/v1"),
    ("Namespace", "v1"),
    ("Node", "v1"),
)
KINDS = st.sampled_from(KNOWN_KINDS) | st.tuples(TEXTS, st.sampled_from(["", "v1", "a/b/c"]))
AVERAGE = {"type": "AverageValue", "averageValue": "1"}


def of_object(kind: str, api_version: str, name: str, /, **identifier: object) -> MetricSpec:
    described = {"kind": kind, "apiVersion": api_version, "name": name}
    source = {"metric": identifier, "target": AVERAGE, "describedObject": described}
    return msgspec.convert({"type": "Object", "object": source}, MetricSpec)


def external(**identifier: object) -> MetricSpec:
    source = {"metric": identifier, "target": AVERAGE}
    return msgspec.convert({"type": "External", "external": source}, MetricSpec)


def of_pods(**identifier: object) -> MetricSpec:
    source = {"metric": identifier, "target": AVERAGE}
    return msgspec.convert({"type": "Pods", "pods": source}, MetricSpec)


@st.composite
def metrics(draw: st.DrawFn) -> MetricSpec:
    """A metric of type External, Pods or Object, with anything in its fields."""
    identifier = {"name": draw(TEXTS), "selector": draw(SELECTORS)}
    kind = draw(st.sampled_from(["External", "Pods", "Object"]))
    if kind == "External":
        return external(**identifier)
    if kind == "Pods":
        return of_pods(**identifier)
    return of_object(*draw(KINDS), draw(TEXTS), **identifier)


def is_restricted(promql: str) -> bool:
    """Whether only rows of the own namespace count: by the rows that are chosen, or by every selector."""
    if f'and on (namespace) label_replace(vector(1), "namespace", "{OWN}", "", "")' in promql:
        return True
    return all(("namespace", "=", OWN) in each for each in selectors(promql))


async def load_of(metric: MetricSpec, *, is_named: bool) -> str | None:
    """PromQL with the load; None without any."""
    try:
        rows = ROWS if metric.pods is None else POD_ROWS
        return await load_query(Adapter(is_named=is_named, rows=rows), MAPPER, OWN, metric, WEB)
    except NoRecordedLoad:
        return None


@given(metric=metrics(), is_named=st.booleans())
def test_the_load_of_a_metric_is_that_of_the_namespace_of_the_autoscaler(metric, is_named):
    promql = asyncio.run(load_of(metric, is_named=is_named))
    assert promql is None or is_restricted(promql), promql


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "discovered"])
@pytest.mark.parametrize("text", SPECIAL)
async def test_no_special_text_in_a_name_reads_another_namespace(text, is_named):
    specs = [external(name=text), *(of_object(*kind, "web", name=text) for kind in KNOWN_KINDS)]
    specs += [of_object(*kind, text, name="load") for kind in KNOWN_KINDS]
    for metric in specs:
        promql = await load_of(metric, is_named=is_named)
        assert promql is None or is_restricted(promql), promql


@pytest.mark.parametrize("is_named", [True, False], ids=["named", "discovered"])
@pytest.mark.parametrize("kind", KNOWN_KINDS[:3], ids=lambda kind: kind[0])
async def test_there_is_such_a_load_for_each_kind_of_rule(kind, is_named):
    """Otherwise the properties above would say nothing."""
    for metric in (external(name="load"), of_object(*kind, "web", name="load")):
        promql = await load_of(metric, is_named=is_named)
        assert promql is not None
        assert is_restricted(promql)


async def test_the_pods_of_a_named_query_have_such_a_load_and_those_of_a_discovered_one_do_not():
    promql = await load_of(of_pods(name="load"), is_named=True)
    assert promql is not None
    assert is_restricted(promql)
    assert '"pod", "web-[4-9bcdf]' in promql
    assert await load_of(of_pods(name="load"), is_named=False) is None


@pytest.mark.parametrize(
    "path", [f"/namespaces/{OWN}/pods/*/load", f"/namespaces/{OWN}/pods/web/load"]
)
async def test_an_explanation_names_the_namespace_of_rows_also_for_several_objects(path):
    adapter = Adapter(is_named=True)
    explained = await adapter.explainer.explain(f"/apis/custom.metrics.k8s.io/v1beta2{path}")
    assert explained.queries[0].row_labels["namespace"] == OWN


@given(metric=metrics())
def test_every_request_for_a_metric_is_within_the_namespace_of_the_autoscaler(metric):
    """What the adapter reads from the path, and authorizes."""
    adapter = Adapter(is_named=True)
    named = metric.external or metric.object or metric.pods
    try:
        selector = from_label_selector(named.metric.selector)
    except ValueError:
        selector = NOTHING

    async def send() -> None:
        if metric.external is not None:
            name = named.metric.name
            await external_metric(adapter, external_path(OWN, name, selector), name)
        elif metric.pods is not None:
            await CustomMetrics(Version(), MAPPER).of_pods(
                adapter, OWN, named.metric.name, NOTHING, selector
            )
        else:
            described = metric.object.described_object
            await CustomMetrics(Version(), MAPPER).of_object(
                adapter, OWN, named.metric.name, described, selector
            )

    with pytest.raises(MetricUnavailable):
        asyncio.run(send())
    for path in adapter.requested:
        try:
            request = adapter.paths.of_url(path).request
        except StatusError:
            continue
        if isinstance(request, ExternalMetricRequest):
            assert request.namespace == OWN
        else:
            assert isinstance(request, CustomMetricRequest)
            is_own = request.resource == NAMESPACES and request.name == OWN
            assert request.namespace == OWN or is_own


class Version:
    """The version of the custom metrics API."""

    async def get(self) -> str:
        return "v1beta2"
