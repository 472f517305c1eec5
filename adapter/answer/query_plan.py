"""A request and the rule that serves it to a metric query for Prometheus.

A discovered metric has a plan per request, which is prometheus-adapter's query, and where that is proven (`adapter.wide`) a wide
query that answers many requests. The query of a named rule is the same for every request. `Rows` select what belongs to one.
"""

from collections.abc import Sequence
from functools import partial

from adapter.documents.refusals import Refuse, custom_metric_not_found, metrics_not_fetched
from adapter.model import (
    EVERY_OBJECT,
    NAMESPACES,
    NODES,
    Ages,
    CustomMetricRequest,
    DiscoveryRule,
    ExternalMetricRequest,
    GroupResource,
    MetricQuery,
    NamedRule,
    Offer,
    Plan,
    ResourceMapping,
    ResourceRule,
    ResourceRules,
    Rows,
    SignalContract,
    UnknownResource,
    UsageQuery,
    Wide,
)
from adapter.promql.ages import age_query, grouping_of
from adapter.promql.metric_query import Matcher, QueryNotBuilt, custom_query, equals, external_query
from adapter.promql.named_query import named_query
from adapter.promql.naming import NoLabel, ResourceConverter
from adapter.wide.text import wide_for_named, wide_for_objects, wide_for_selector
from wire.api.labels import EVERYTHING
from wire.api.status import StatusError


def custom_metric_query(
    request: CustomMetricRequest, offer: Offer, mapping: ResourceMapping, names: Sequence[str]
) -> MetricQuery:
    """The query for the named objects; raises `StatusError` 404, as prometheus-adapter does, when there are none."""
    if not names:
        raise custom_metric_not_found(
            request, f"no object matches the label selector {str(request.selector)!r}"
        )
    try:
        if isinstance(offer.rule, NamedRule):
            return _custom_by_name(request, offer.rule)
        return _custom_discovered(request, offer.rule, offer.series, mapping, names)
    except (NoLabel, QueryNotBuilt, UnknownResource) as e:
        refuse = partial(custom_metric_not_found, request)
        raise _not_built(refuse, f"{offer.rule.path} serves it, but ", e) from None


def _not_built(refuse: Refuse, before: str, error: Exception) -> StatusError:
    if not isinstance(error, QueryNotBuilt):
        return refuse(f"{before}{error}")
    refused = refuse(f"{before}{error.public}")
    refused.in_full = refuse(f"{before}{error}")
    return refused


def _custom_discovered(
    request: CustomMetricRequest,
    rule: DiscoveryRule,
    series: str,
    mapping: ResourceMapping,
    names: Sequence[str],
) -> MetricQuery:
    converter = ResourceConverter(rule.resources, mapping)
    object_label = converter.label_for(mapping.resource_for(request.resource))
    namespace = _namespace(converter, request.namespace)
    query = custom_query(
        rule.metrics_query,
        series=series,
        selector=request.metric_selector,
        namespace=namespace,
        object_label=object_label,
        names=names,
    )
    plan = Plan(query, rule.backend)
    return MetricQuery(
        plan=plan,
        ages=_ages(plan, rule.contract, (object_label,)),
        rows=Rows(object_label=object_label),
        contract=rule.contract,
        rule=rule.path,
        wide=wide_for_objects(
            rule.metrics_query,
            series=series,
            selector=request.metric_selector,
            namespace=namespace,
            object_label=object_label,
            backend=rule.backend,
            dated=rule.contract.stale_after_seconds is not None,
        )
        if all(names) and mapping.resource_for(request.resource) != NAMESPACES
        else None,
    )


def _custom_by_name(request: CustomMetricRequest, rule: NamedRule) -> MetricQuery:
    """The rule's own query, the same for every request; each request uses the rows of its namespace and objects."""
    where = (
        ((rule.namespace_label, request.namespace),)
        if rule.namespace_label and request.namespace
        else ()
    )
    rows = Rows(object_label=rule.object_label, where=where)
    plan = Plan(
        named_query(rule.query, request.metric_selector), rule.backend, key_labels=rows.key_labels
    )
    return MetricQuery(
        plan=plan,
        ages=_ages(plan, rule.contract, rows.key_labels),
        rows=rows,
        contract=rule.contract,
        rule=rule.path,
        window_seconds=rule.window_seconds,
    )


def external_metric_query(
    request: ExternalMetricRequest, offer: Offer, mapping: ResourceMapping
) -> MetricQuery:
    """The query for an external metric; raises `StatusError` 500, as prometheus-adapter does, when it cannot be built."""
    try:
        if isinstance(offer.rule, NamedRule):
            return _external_by_name(request, offer.rule)
        return _external_discovered(request, offer.rule, offer.series, mapping)
    except (NoLabel, QueryNotBuilt) as e:
        raise _not_built(metrics_not_fetched, f"{offer.rule.path}: ", e) from None


def _external_discovered(
    request: ExternalMetricRequest, rule: DiscoveryRule, series: str, mapping: ResourceMapping
) -> MetricQuery:
    restricted = request.namespace if rule.resources.namespaced else ""
    namespace = _namespace(ResourceConverter(rule.resources, mapping), restricted)
    query = external_query(
        rule.metrics_query, series=series, selector=request.selector, namespace=namespace
    )
    plan = Plan(query, rule.backend)
    return MetricQuery(
        plan=plan,
        ages=_ages(plan, rule.contract, grouping_of(query)),
        rows=Rows(),
        contract=rule.contract,
        rule=rule.path,
        wide=wide_for_selector(
            rule.metrics_query,
            series=series,
            selector=request.selector,
            namespace=namespace,
            backend=rule.backend,
            dated=rule.contract.stale_after_seconds is not None,
        ),
    )


def _external_by_name(request: ExternalMetricRequest, rule: NamedRule) -> MetricQuery:
    where = ((rule.namespace_label, request.namespace),) if rule.namespace_label else ()
    rows = Rows(where=where)
    plan = Plan(named_query(rule.query, request.selector), rule.backend, key_labels=rows.key_labels)
    return MetricQuery(
        plan=plan,
        ages=_ages(plan, rule.contract, grouping_of(plan.query)),
        rows=rows,
        contract=rule.contract,
        rule=rule.path,
        window_seconds=rule.window_seconds,
        wide=wide_for_named(
            rule.query,
            selector=request.selector,
            where=where,
            backend=rule.backend,
            dated=rule.contract.stale_after_seconds is not None,
        ),
    )


def _ages(plan: Plan, contract: SignalContract, labels: tuple[str, ...]) -> Ages | None:
    if contract.stale_after_seconds is None:
        return None
    query = age_query(plan.query, labels)
    return Ages(plan=Plan(query, plan.backend, key_labels=labels), labels=labels) if query else None


def usage_query(
    rules: ResourceRules,
    *,
    resource: GroupResource,
    namespace: str,
    names: Sequence[str],
    mapping: ResourceMapping,
) -> UsageQuery:
    """cpu and memory of the named pods of one namespace, or of the named nodes; raises `StatusError` 500."""

    def plan(rule: ResourceRule) -> tuple[Plan, Rows, Wide | None]:
        converter = ResourceConverter(rule.resources, mapping)
        template = rule.node_query if resource == NODES else rule.container_query
        containers = () if resource == NODES else (rule.container_label,)
        try:
            object_label = converter.label_for(resource)
            matcher = _namespace(converter, namespace)
            query = custom_query(
                template,
                series="",
                selector=EVERYTHING,
                namespace=matcher,
                object_label=object_label,
                names=names,
                extra_group_by=containers,
            )
        except (NoLabel, QueryNotBuilt) as e:
            raise _not_built(metrics_not_fetched, f"{rule.path}: ", e) from None
        wide = wide_for_objects(
            template,
            series="",
            selector=EVERYTHING,
            namespace=matcher,
            object_label=object_label,
            extra_group_by=containers,
            backend=rules.backend,
        )
        return Plan(query, rules.backend), Rows(object_label=object_label), wide

    cpu, cpu_rows, cpu_wide = plan(rules.cpu)
    memory, memory_rows, memory_wide = plan(rules.memory)
    return UsageQuery(
        cpu=cpu,
        memory=memory,
        cpu_rows=cpu_rows,
        memory_rows=memory_rows,
        cpu_container_label="" if resource == NODES else rules.cpu.container_label,
        memory_container_label="" if resource == NODES else rules.memory.container_label,
        window_seconds=rules.window_seconds,
        cpu_wide=cpu_wide,
        memory_wide=memory_wide,
    )


def _namespace(converter: ResourceConverter, namespace: str) -> Matcher | None:
    return equals(converter.label_for(NAMESPACES), namespace) if namespace else None


def requested_names(request: CustomMetricRequest) -> tuple[str, ...] | None:
    """The name in a request for one object; None when it is for every object that its selector matches."""
    return None if request.name == EVERY_OBJECT else (request.name,)
