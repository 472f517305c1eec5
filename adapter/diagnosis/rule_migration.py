"""prometheus-adapter's rules to named metrics, with equal values: each query is proven, and compared in Prometheus.

The query of a named metric is the wide query of the rule, which answers the requests of all namespaces. Where that is not
proven to have the same rows, the rule stays as it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from adapter.answer.query_plan import custom_metric_query
from adapter.config import Configuration
from adapter.config.named_metrics import default_labels
from adapter.config.signal_block import signal_of_named
from adapter.diagnosis.near_misses import NAME
from adapter.diagnosis.rule_yields import Metric, yielded
from adapter.model import (
    DEFAULT_BACKEND,
    NAMESPACES,
    CustomMetricRequest,
    DiscoveryRule,
    GroupResource,
    MetricQuery,
    Offer,
    Plan,
    ResourceMapping,
)
from adapter.ports import Prometheus, QueryFailed
from adapter.promql.naming import NoLabel, ResourceConverter
from adapter.wide.text import text_for
from wire.api.labels import EVERYTHING
from wire.api.quoting import go_quote
from wire.api.status import StatusError

Json = dict[str, Any]
LabelSets = Sequence[Mapping[str, str]]

LISTED_SECONDS: Final = 600.0
"""Series are listed this far back: the default of --metrics-max-age."""

NO_SERIES: Final = "Prometheus has no series for it"

NAMESPACES_COMPARED_MAX: Final = 20
"""In how many namespaces the values of a metric are compared."""


class MigratedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A named metric, and for how many objects its value was compared with that of the rule.

    `of_namespaces`: the rule serves it of namespaces, too, and the named metric does not.
    """

    block: Json  # an entry of `metrics`
    compared: int
    of_namespaces: bool = False


class MigratedRule(msgspec.Struct, frozen=True, kw_only=True):
    """One rule: the metrics in its place, or why it stays. `is_done`: it stays for good, and there is nothing to fix."""

    path: str
    metrics: tuple[MigratedMetric, ...] = ()
    problem: str = ""
    is_done: bool = False


class NotMigrated(Exception):
    """A rule has no named metric with equal values; the message says why."""


class NotReplaceable(NotMigrated):
    """Whatever Prometheus has: rules of this kind stay."""


class RuleMigration:
    """Converts the rules of a configuration one after the other."""

    def __init__(self, prometheus: Prometheus, mapping: ResourceMapping) -> None:
        self._prometheus = prometheus
        self._mapping = mapping

    async def rules(self, configuration: Configuration) -> tuple[MigratedRule, ...]:
        """One result for each rule of `rules` and `externalRules`."""
        found = []
        for rule in configuration.rules:
            if isinstance(rule, DiscoveryRule):
                try:
                    metrics = await self._migrated(rule)
                    found.append(MigratedRule(path=rule.path, metrics=metrics))
                except NotMigrated as problem:
                    is_done = isinstance(problem, NotReplaceable)
                    found.append(
                        MigratedRule(path=rule.path, problem=str(problem), is_done=is_done)
                    )
                except QueryFailed as error:
                    found.append(
                        MigratedRule(path=rule.path, problem=f"not checked: {error.cause}")
                    )
        return tuple(found)

    async def _migrated(self, rule: DiscoveryRule) -> tuple[MigratedMetric, ...]:
        if rule.external:
            raise NotReplaceable("only rules of custom metrics are replaced")
        series = await self._prometheus.label_sets(
            match=rule.series_query, backend=rule.backend, max_age_seconds=LISTED_SECONDS
        )
        metrics = yielded(rule, series, self._mapping).metrics
        if not metrics:
            raise NotMigrated(NO_SERIES)
        return tuple(
            [
                await self._metric(rule, each, resource, series)
                for each in metrics
                for resource in _described(each)
            ]
        )

    async def _metric(
        self, rule: DiscoveryRule, metric: Metric, resource: GroupResource, series: LabelSets
    ) -> MigratedMetric:
        converter = ResourceConverter(rule.resources, self._mapping)
        try:
            labels = (converter.label_for(resource), converter.label_for(NAMESPACES))
        except NoLabel as error:
            raise NotMigrated(f"{metric.name}: {error}") from None
        objects: dict[str, set[str]] = {}
        for each in series:
            if each.get(NAME) == metric.series and all(label in each for label in labels):
                objects.setdefault(each[labels[1]], set()).add(each[labels[0]])
        if not objects:
            raise NotMigrated(f"{metric.name}: no series has the labels {' and '.join(labels)}")
        block: Json | None = None
        compared = 0
        for namespace, names in sorted(objects.items())[:NAMESPACES_COMPARED_MAX]:
            narrow = self._query(rule, metric, resource, namespace, sorted(names))
            block = block or _block(rule, metric, resource, labels, narrow)
            compared += await self._compared(rule, block["query"], narrow, labels, namespace)
        of_namespaces = str(NAMESPACES) in metric.resources
        return MigratedMetric(block=block or {}, compared=compared, of_namespaces=of_namespaces)

    def _query(
        self,
        rule: DiscoveryRule,
        metric: Metric,
        resource: GroupResource,
        namespace: str,
        names: Sequence[str],
    ) -> MetricQuery:
        request = CustomMetricRequest(
            resource=self._mapping.resource_for(resource),
            name="*",
            metric=metric.name,
            selector=EVERYTHING,
            metric_selector=EVERYTHING,
            namespace=namespace,
        )
        try:
            return custom_metric_query(request, Offer(rule, metric.series), self._mapping, names)
        except StatusError as error:
            raise NotMigrated(f"{metric.name}: {error.message}") from None

    async def _compared(
        self,
        rule: DiscoveryRule,
        named: str,
        narrow: MetricQuery,
        labels: tuple[str, str],
        namespace: str,
    ) -> int:
        """The number of objects with equal values; both queries are evaluated at the same time."""
        where = f'label_replace(vector(1), "{labels[1]}", {go_quote(namespace)}, "", "")'
        own = f"(({named}) and on ({labels[1]}) {where})"
        rule_query = f"({narrow.plan.query})"
        on = f"on ({labels[0]})"
        differing = (
            f"(abs({rule_query} - {on} {own}) > 1e-9 * abs({rule_query}))"
            f" or {on} ({rule_query} unless {on} {own}) or {on} ({own} unless {on} {rule_query})"
        )
        if (await self._prometheus.evaluate(Plan(differing, rule.backend))).samples:
            raise NotMigrated(f"its values differ from those of the rule in namespace {namespace}")
        counted = await self._prometheus.evaluate(Plan(f"count({rule_query})", rule.backend))
        return round(counted.samples[0].value) if counted.samples else 0


def _described(metric: Metric) -> tuple[GroupResource, ...]:
    """Every kind of object for which the rule serves the metric, except namespaces: named metrics do not support these."""
    kinds = [each for each in metric.resources if each != str(NAMESPACES)]
    if not kinds:
        raise NotMigrated(
            f"{metric.name} describes namespaces only, which named metrics do not. If a label of its series names another object, map it "
            "in `overrides`, or name the cluster with --kubeconfig; otherwise the rule works unchanged"
        )
    return tuple(map(GroupResource.parse, kinds))


def _block(
    rule: DiscoveryRule,
    metric: Metric,
    resource: GroupResource,
    labels: tuple[str, str],
    narrow: MetricQuery,
) -> Json:
    if narrow.wide is None or not narrow.wide.namespace:
        raise NotReplaceable(
            f"{metric.name}: its query is not proven to have the same rows for all namespaces"
        )
    block: Json = {
        "name": metric.name,
        "describes": str(resource),
        "query": text_for(narrow.wide.query.parts, [".+"]),
    }
    if signal := signal_of_named(rule.contract):
        block["signal"] = signal
    if labels != default_labels(resource):
        block["labels"] = {"object": labels[0], "namespace": labels[1]}
    if rule.backend.name != DEFAULT_BACKEND:
        block["backend"] = rule.backend.name
    return block
