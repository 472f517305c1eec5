"""Wide queries against the requests' own queries on a real backend, for generated templates and selectors."""

import random
from collections.abc import Iterator
from typing import Any

from adapter.answer.evaluating import own_rows
from adapter.answer.observer import UNOBSERVED
from adapter.answer.query_plan import custom_metric_query, external_metric_query
from adapter.fetch.prometheus import PrometheusClient
from adapter.model import (
    PODS,
    CustomMetricRequest,
    DiscoveryRule,
    Evaluation,
    ExternalMetricRequest,
    Freshness,
    MetricQuery,
    Offer,
    Reaction,
    ResourceLabels,
    SignalContract,
)
from adapter.ports import QueryFailed
from adapter.wide.plans import WidePlans
from testbed.exporter import Exporter
from tests.fakes.adapter import FakeMapping
from tests.fakes.clock import FakeClock
from tests.generated_templates import FUNCTIONS, TemplateGenerator
from wire.api import labels
from wire.api.status import StatusError

NAMESPACES, PODS_EACH, QUEUES, CODES = ("n1", "n2", "n3"), 4, 3, ("200", "404", "500")
CONTRACT = SignalContract(on_empty=Reaction.OMIT, on_nan=Reaction.ZERO, on_partial=Reaction.ACCEPT)
RULES_FUNCTIONS = (
    *FUNCTIONS,
    "ceil({})",
    "clamp_max({}, 7)",
    'label_join({}, "copy", "-", "code", "queue")',
    "histogram_quantile(0.9, {})",
)
EXACT_DIGITS = 17
"""With so many, equal texts are equal numbers."""
Request = tuple[MetricQuery, tuple[str, ...]]


def expose(exporter: Exporter) -> None:
    """Counters of pods and queues in three namespaces."""
    for number, (name, namespace, pod, queue, code) in enumerate(_series()):
        found = {"namespace": namespace, "pod": pod, "queue": queue, "code": code}
        given = {key: value for key, value in found.items() if value}
        exporter.increase(name, number % 11 / 7, **given, le=("1", "2", "+Inf")[number % 3])


def _series() -> Iterator[tuple[str, str, str, str, str]]:
    chance = random.Random(7)
    for name in ("a", "b", "c"):
        for namespace in NAMESPACES:
            for pod in range(PODS_EACH):
                for code in CODES:
                    if chance.random() < 0.8:
                        queue = f"q{chance.randrange(QUEUES)}" if chance.random() < 0.8 else ""
                        yield name, namespace, f"web-{pod}", queue, code


def rule(template: str, *, external: bool) -> DiscoveryRule:
    """A rule with this template."""
    return DiscoveryRule(
        path="rules[0]",
        external=external,
        series_query="a",
        resources=ResourceLabels(template="<<.Resource>>"),
        metrics_query=template,
        contract=CONTRACT,
    )


def pods_requests(template: str) -> Iterator[Request]:
    """Of some pods in each namespace."""
    offer = Offer(rule(template, external=False), "a")
    for namespace in NAMESPACES:
        for names in (("web-0",), ("web-1", "web-3")):
            request = CustomMetricRequest(
                resource=PODS,
                name="*",
                metric="a",
                selector=labels.parse("app=web"),
                metric_selector=labels.parse(""),
                namespace=namespace,
            )
            yield custom_metric_query(request, offer, FakeMapping(), names), names


def external_requests(template: str, selector: str) -> Iterator[Request]:
    """Of each queue in each namespace."""
    offer = Offer(rule(template, external=True), "a")
    for namespace in NAMESPACES:
        for queue in range(QUEUES):
            request = ExternalMetricRequest(
                namespace=namespace,
                metric="a",
                selector=labels.parse(selector.format(queue=f"q{queue}")),
            )
            yield external_metric_query(request, offer, FakeMapping()), ()


async def compared(
    client: PrometheusClient, requests: list[Request], template: str, digits: int
) -> int | None:
    """How many rows the wide query returned for the requests, as their own queries do; None when that is not proven."""
    if requests[0][0].wide is None:
        return None
    clock = FakeClock()
    plans = WidePlans(client, freshness=Freshness(), monotonic=clock)
    for query, names in requests:
        await plans.evaluation_for(query.wide, query.plan.query, names)
    clock.seconds += 1.0
    answered = 0
    for query, names in requests:
        found = await plans.evaluation_for(query.wide, query.plan.query, names)
        if found is None:
            continue
        answered += len(found.samples)
        own = await own_rows(client, query, names, UNOBSERVED)
        # The engine returns quantiles of histograms in the order of a Go map: each time in another one.
        ordered: Any = sorted if "histogram_quantile" in template else list
        assert ordered(rows_of(found, names, digits)) == ordered(rows_of(own, names, digits)), (
            query.plan.query
        )
    return answered


def rows_of(evaluation: Evaluation, names: tuple[str, ...], digits: int) -> list[Any]:
    """The rows of an External metric have an order; those of Pods are in the order of the names of the request."""
    rows = [(sorted(row.labels.items()), f"{row.value:.{digits}g}") for row in evaluation.samples]
    if not names:
        return rows
    values = {dict(labels).get("pod"): value for labels, value in rows}
    return [(name, values[name]) for name in names if name in values]


async def compare(
    client: PrometheusClient, *, pairs: int, at_seconds: float, digits: int = EXACT_DIGITS
) -> None:
    """Until so many wide queries have answered; raises AssertionError when one has other values than the requests' own queries.

    `digits`: of values that must be equal; a backend that adds up in any order has other last digits.
    """
    proven = answered = seed = 0
    while answered < pairs:
        seed += 1
        assert seed < 20 * pairs, f"{answered} of {proven} wide queries have answered"
        template = TemplateGenerator(seed, RULES_FUNCTIONS, at=f" @ {at_seconds:.3f}").template()
        selector = ("queue={queue}", "queue={queue},code!=500", "code in (200,404)")[seed % 3]
        try:
            requests = (
                list(pods_requests(template))
                if seed % 2
                else list(external_requests(template, selector))
            )
            found = await compared(client, requests, template, digits)
        except (QueryFailed, StatusError):
            continue
        proven += found is not None
        answered += bool(found)
