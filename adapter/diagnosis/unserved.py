"""Why no rule serves a metric, and what has to change: the request compared with the rules and their series."""

from collections.abc import Mapping, Sequence

from adapter.diagnosis.explanation import Finding
from adapter.diagnosis.near_misses import likely_series_names, sources
from adapter.model import (
    DEFAULT_BACKEND,
    BackendRef,
    CustomMetricRequest,
    DiscoveryRule,
    ExternalMetricRequest,
    Gap,
    GroupResource,
    ListedRule,
    MetricEntry,
    ResourceMapping,
    Series,
)
from adapter.promql.naming import NoLabel, ResourceConverter

SearchedSeries = tuple[BackendRef, str]
"""A backend and the name of a series."""


def series_to_search(
    request: CustomMetricRequest | ExternalMetricRequest, listed: Sequence[ListedRule]
) -> tuple[SearchedSeries, ...]:
    """The series to search in Prometheus, if no rule makes the metric of a known one: whether they exist says why it does not.

    The series of a rule on the rule's backend, and likely names on every backend that rules use.
    """
    external = isinstance(request, ExternalMetricRequest)
    made = [
        (each.rule.backend, each.series)
        for each in sources(_rules(listed), request.metric, external=external)
    ]
    backends = dict.fromkeys(each.rule.backend for each in listed)
    # The backend `default` of the file replaces that of the flags.
    if DEFAULT_BACKEND not in {each.name for each in backends}:
        backends = {BackendRef(): None, **backends}
    likely = likely_series_names(request.metric)
    return tuple(dict.fromkeys([*made, *((each, name) for each in backends for name in likely)]))


def no_rule(
    request: CustomMetricRequest | ExternalMetricRequest,
    *,
    resource: GroupResource | None,
    listed: Sequence[ListedRule],
    made: Sequence[tuple[DiscoveryRule, Series]],
    gaps: Sequence[Gap],
    entries: Sequence[MetricEntry],
    mapping: ResourceMapping,
    seen: Mapping[SearchedSeries, Sequence[Series]],
) -> Finding:
    """No rule serves the metric.

    `made`: the known series that a rule gives its name. `entries`: those of the metric. `seen`: the series that Prometheus has under
    the names searched.
    """
    external = isinstance(request, ExternalMetricRequest)
    if resource is not None and any(each.resource == resource for each in entries):
        return _wrong_scope(request, resource)
    if made and resource is not None:
        return _not_mapped(request.metric, resource, made, entries=entries, mapping=mapping)
    if gaps:
        return _not_listed(gaps)
    if entries:
        return _of_another_resource(request.metric, [str(each.resource) for each in entries])
    if found := sources(_rules(listed), request.metric, external=external):
        # Most likely a series that Prometheus has; else the one with the shortest name.
        likeliest = min(
            found,
            key=lambda each: (not seen.get((each.rule.backend, each.series)), len(each.series)),
        )
        return _no_series(likeliest.rule, likeliest.series, seen)
    return _no_rule_at_all(request.metric, external=external, seen=seen)


def _rules(listed: Sequence[ListedRule]) -> list[DiscoveryRule]:
    return [each.rule for each in listed if isinstance(each.rule, DiscoveryRule)]


def _wrong_scope(
    request: CustomMetricRequest | ExternalMetricRequest, resource: GroupResource
) -> Finding:
    inside = bool(request.namespace)
    return Finding(
        step="rule",
        reason="WrongScope",
        message=f"{resource} {'do not ' if inside else ''}live in namespaces, but the path {'names one' if inside else 'names none'}",
        fix=f"Request it at {'/' if inside else '/namespaces/NAMESPACE/'}{resource}/NAME/{request.metric}.",
    )


def _not_mapped(
    metric: str,
    resource: GroupResource,
    made: Sequence[tuple[DiscoveryRule, Series]],
    *,
    entries: Sequence[MetricEntry],
    mapping: ResourceMapping,
) -> Finding:
    rule, series = made[0]
    labels = ", ".join(sorted(series.labels)) or "none"
    there = sorted({str(each.resource) for each in entries})
    instead = f" The metric exists for {', '.join(there)}." if there else ""
    try:
        label = ResourceConverter(rule.resources, mapping).label_for(resource)
    except NoLabel:
        return Finding(
            step="rule",
            reason="LabelNotMapped",
            message=f"{rule.path} makes {metric} from {series.name}, but maps no label to {resource}. The series' labels: {labels}",
            fix=f"Add the label that names them to {rule.path}.resources.overrides, such as "
            f"`pod: {{resource: pod}}`.{instead}",
        )
    if any(of is rule and label in each.labels for of, each in made):
        return Finding(
            step="rule",
            reason="LabelNotMapped",
            message=f"{rule.path} makes {metric} from {series.name} and reads {resource} from its label {label!r}, "
            "but does not offer it for them, because the rule has too many metrics, "
            "or its name could change the query: the log of the adapter says which",
            fix=f"Map the label {label!r} under {rule.path}.resources.overrides, or do what the log says.{instead}",
        )
    return Finding(
        step="rule",
        reason="LabelNotMapped",
        message=f"{rule.path} makes {metric} from {series.name} and reads {resource} from its label {label!r}, "
        f"which the series does not have. Its labels: {labels}",
        fix=f"Relabel the target so that it has {label!r}, or map the label that names {resource} under "
        f"{rule.path}.resources.overrides.{instead}",
    )


def _of_another_resource(metric: str, elsewhere: Sequence[str]) -> Finding:
    there = ", ".join(sorted(set(elsewhere)))
    return Finding(
        step="rule",
        reason="OtherResource",
        message=f"{metric} exists only for {there}",
        fix=f"Request it for that resource (a metric of a namespace: /namespaces/NAMESPACE/metrics/{metric}), or add a metric that describes this one.",
    )


def _not_listed(gaps: Sequence[Gap]) -> Finding:
    what = "; ".join(f"{gap.rule}: {gap.cause}" for gap in gaps)
    if any(gap.temporary for gap in gaps):
        return Finding(
            step="rule",
            reason="PrometheusDown",
            message=f"the series of these rules were never listed, so it is not known whether the metric exists: {what}",
            fix="Check that Prometheus runs and that --prometheus-url (or the backend's url) is right; the listing is retried automatically.",
        )
    return Finding(
        step="rule",
        reason="SeriesNotListed",
        message=f"Prometheus refuses to list the series of: {what}",
        fix="Run the rule's seriesQuery in Prometheus itself and fix it.",
    )


def _no_series(
    rule: DiscoveryRule, series: str, seen: Mapping[SearchedSeries, Sequence[Series]]
) -> Finding:
    if shapes := seen.get((rule.backend, series)):
        labels = ", ".join(sorted(shapes[0].labels))
        return Finding(
            step="rule",
            reason="NoSeries",
            message=f"{rule.path} would serve it, and Prometheus has {series} (labels: {labels}), "
            f"but the rule's seriesQuery does not select it: {rule.series_query}",
            fix="Give the series the labels that seriesQuery requires (relabeling), or require fewer labels there.",
        )
    return Finding(
        step="rule",
        reason="NoSeries",
        message=f"{rule.path} would serve it, but Prometheus has no series for it now (its name would be {series})",
        fix="Check that the target is up and exposes it: query `up` and the name in Prometheus. A series is listed "
        "within --metrics-relist-interval of its first sample.",
    )


def _no_rule_at_all(
    metric: str, *, external: bool, seen: Mapping[SearchedSeries, Sequence[Series]]
) -> Finding:
    present = next((name for (_, name), found in seen.items() if found), "")
    known = f", although Prometheus has the series {present}" if present else ""
    query = f"sum by (namespace, pod) ({present or metric})"
    example = (
        f"{{name: {metric}, query: 'sum({present or metric})'}}"
        if external
        else f"{{name: {metric}, describes: pods, query: '{query}'}}"
    )
    return Finding(
        step="rule",
        reason="NoRule",
        message=f"no rule yields a metric named {metric}{known}",
        fix=f"Check the spelling, or add under `metrics` of the configuration: {example}",
    )
