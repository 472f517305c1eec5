"""What a rule yields from the series that exist: metrics, resources and a request to try, or why it yields nothing.

`check` compares each rule with whole series, label values included, which the server never reads.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from adapter.diagnosis.explanation import Finding
from adapter.diagnosis.near_misses import NAME
from adapter.model import (
    NAMESPACES,
    PODS,
    CustomMetricRequest,
    DiscoveryRule,
    ExternalMetricRequest,
    GroupResource,
    Offer,
    ResourceMapping,
)
from adapter.promql.metric_query import QueryNotBuilt
from adapter.promql.naming import NoLabel, ResourceConverter, series_metric
from adapter.promql.regex import pattern
from adapter.promql.selectors import selectors
from wire.api.labels import EVERYTHING
from wire.api.quoting import go_quote
from wire.api.wording import some

LabelSet = Mapping[str, str]


class Metric(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One metric of a rule: its name, the name of its series, and the resources it describes."""

    name: str
    series: str
    resources: tuple[str, ...] = ()  # none for an external metric


class Trial(msgspec.Struct, frozen=True):
    """A request that an autoscaler could send, for an object that the series name."""

    request: CustomMetricRequest | ExternalMetricRequest
    offer: Offer


class Yield(msgspec.Struct, frozen=True, kw_only=True):
    """What the rule yields. Without metrics, `findings` says why."""

    metrics: tuple[Metric, ...] = ()
    trial: Trial | None = None
    findings: tuple[Finding, ...] = ()


def yielded(rule: DiscoveryRule, found: Sequence[LabelSet], mapping: ResourceMapping) -> Yield:
    """What the rule yields from the series that its selector selects."""
    converter = ResourceConverter(rule.resources, mapping)
    unknown = tuple(_unknown(rule, label, resource) for label, resource in converter.unknown)
    if not found:
        return Yield(findings=(*unknown, no_series(rule)))
    named = [
        (each, name)
        for each in found
        if (name := series_metric(rule, each.get(NAME, ""))) is not None
    ]
    if not named:
        return Yield(findings=(*unknown, _filtered(rule, found)))
    if unnamed := [each.get(NAME, "") for each, name in named if not name or "/" in name]:
        unknown = (*unknown, _bad_name(rule, unnamed))
    if rule.external:
        return _external(rule, named, converter, unknown)
    return _custom(rule, named, converter, unknown)


def no_series(rule: DiscoveryRule, without_labels: Sequence[LabelSet] = ()) -> Finding:
    """The selector selects nothing. `without_labels`: what it selects by name only."""
    if without_labels:
        labels = sorted(set().union(*without_labels) - {NAME})
        name = without_labels[0].get(NAME, "")
        return Finding(
            step="series",
            reason="NoSeries",
            message=f"Prometheus has {name} with the labels {', '.join(labels)}, but none that {rule.series_query} selects",
            fix="Give the series the labels that seriesQuery requires (relabeling), or require fewer labels there.",
        )
    return Finding(
        step="series",
        reason="NoSeries",
        message=f"Prometheus has no series for {rule.series_query}",
        fix="Check that the target is up and exposes it (query `up` and the name in Prometheus), and the spelling.",
    )


def by_name_alone(series_query: str) -> str | None:
    """The selector without its conditions on labels; None when there are none, or when it would select everything."""
    try:
        found = selectors(series_query)
    except QueryNotBuilt:
        return None
    conditions = found[0] if len(found) == 1 else []
    by_name = [(op, value) for label, op, value in conditions if label == NAME]
    if len(by_name) == len(conditions) or not any(op in ("=", "=~") for op, _ in by_name):
        return None
    return "{" + ",".join(f"{NAME}{op}{go_quote(value)}" for op, value in by_name) + "}"


def _custom(
    rule: DiscoveryRule,
    named: Sequence[tuple[LabelSet, str]],
    converter: ResourceConverter,
    findings: tuple[Finding, ...],
) -> Yield:
    resources: dict[tuple[str, str], set[str]] = {}
    unmapped: dict[str, LabelSet] = {}
    for each, name in named:
        mapped = {str(resource) for _, resource in _mapped(each, converter)}
        if mapped:
            resources.setdefault((name, each[NAME]), set()).update(mapped)
        else:
            unmapped[each[NAME]] = each
    if unmapped:
        findings = (*findings, _unmapped(rule, unmapped, some_are=bool(resources)))
    if (missing := _namespace_missing(rule, named, converter)) is not None and resources:
        findings = (*findings, missing)
    metrics = tuple(
        Metric(name=name, series=series, resources=tuple(sorted(found)))
        for (name, series), found in sorted(resources.items())
    )
    return Yield(metrics=metrics, trial=_trial(rule, named, converter), findings=findings)


def _external(
    rule: DiscoveryRule,
    named: Sequence[tuple[LabelSet, str]],
    converter: ResourceConverter,
    findings: tuple[Finding, ...],
) -> Yield:
    label = ""
    if rule.resources.namespaced:
        if (missing := _namespace_missing(rule, named, converter)) is not None:
            findings = (*findings, missing)
        else:
            label = converter.label_for(NAMESPACES)
    first, name = next(
        ((each, name) for each, name in named if not label or label in each), named[0]
    )
    request = ExternalMetricRequest(
        namespace=first.get(label, "default"), metric=name, selector=EVERYTHING
    )
    metrics = dict.fromkeys((name, each[NAME]) for each, name in named)
    return Yield(
        metrics=tuple(Metric(name=name, series=series) for name, series in sorted(metrics)),
        trial=Trial(request, Offer(rule, first[NAME])),
        findings=findings,
    )


def _mapped(each: LabelSet, converter: ResourceConverter) -> Iterator[tuple[str, GroupResource]]:
    for label in each:
        if label != NAME and (resource := converter.resource_for(label)) is not None:
            yield label, resource


def _trial(
    rule: DiscoveryRule, named: Sequence[tuple[LabelSet, str]], converter: ResourceConverter
) -> Trial | None:
    """A metric of a pod if there is one, else of any other object, and of a namespace last."""
    best: tuple[int, LabelSet, str, str, GroupResource] | None = None
    for each, name in named:
        for label, resource in _mapped(each, converter):
            rank = 0 if resource == PODS else 2 if resource == NAMESPACES else 1
            if best is None or rank < best[0]:
                best = (rank, each, name, label, resource)
        if best and best[0] == 0:
            break
    if best is None:
        return None
    _, each, name, label, resource = best
    namespace = ""
    if converter.is_listed_as_namespaced(resource):
        try:
            namespace = each.get(converter.label_for(NAMESPACES), "")
        except NoLabel:
            return None
    request = CustomMetricRequest(
        resource=resource,
        name=each[label],
        metric=name,
        selector=EVERYTHING,
        metric_selector=EVERYTHING,
        namespace=namespace,
    )
    return Trial(request, Offer(rule, each[NAME]))


def _namespace_missing(
    rule: DiscoveryRule, named: Sequence[tuple[LabelSet, str]], converter: ResourceConverter
) -> Finding | None:
    """Requests for namespaced objects contain the namespace, which some label must name."""
    describes = {resource for each, _ in named for _, resource in _mapped(each, converter)}
    if not rule.external and not any(converter.is_listed_as_namespaced(r) for r in describes):
        return None
    fix = f"Add the label that holds the namespace to {rule.path}.resources.overrides: `namespace: {{resource: namespace}}`"
    if rule.external:
        fix += ", or set `resources.namespaced: false`"
    try:
        label = converter.label_for(NAMESPACES)
    except NoLabel:
        return Finding(
            step="resources",
            reason="NoNamespaceLabel",
            message="no label is mapped to the namespace, so every request fails",
            fix=f"{fix}.",
        )
    if any(label in each for each, _ in named):
        return None
    return Finding(
        step="resources",
        reason="NoNamespaceLabel",
        message=f"the namespace is read from the label {label!r}, which no series has, so every result is empty",
        fix=f"Relabel the target so that it has {label!r}, or map another one. {fix}.",
    )


def _unknown(rule: DiscoveryRule, label: str, resource: GroupResource) -> Finding:
    return Finding(
        step="resources",
        reason="UnknownResource",
        message=f"{rule.path}.resources.overrides.{label}: the cluster has no resource {resource}, so the label is ignored",
        fix="See `kubectl api-resources`. Without --kubeconfig only Kubernetes' own resources are known here.",
    )


def _filtered(rule: DiscoveryRule, found: Sequence[LabelSet]) -> Finding:
    names = sorted({each.get(NAME, "") for each in found})
    left = names
    culprit = "name.matches"
    for each in rule.series_filters:
        left = [n for n in left if (pattern(each.pattern).search(n) is not None) == each.positive]
        if not left:
            is_name = each.positive and each.pattern == rule.name_matches
            word = "is" if each.positive else "isNot"
            culprit = f"{'name.matches' if is_name else f'seriesFilters {word}'}: {each.pattern}"
            break
    return Finding(
        step="filters",
        reason="Filtered",
        message=f"{len(found)} series are selected ({some(names)}), and `{culprit}` excludes the last of them",
        fix="Expressions are RE2 and match anywhere in the series' name: fix it, or delete it.",
    )


def _bad_name(rule: DiscoveryRule, series: Sequence[str]) -> Finding:
    return Finding(
        step="filters",
        reason="BadName",
        message=f"`name.as: {rule.name_as}` makes an empty name, or one with a slash, from {some(sorted(set(series)))}",
        fix="Write ${1}_x and not $1_x, which means a group named 1_x.",
    )


def _unmapped(rule: DiscoveryRule, unmapped: Mapping[str, LabelSet], *, some_are: bool) -> Finding:
    names = sorted(unmapped)
    labels = sorted(set().union(*unmapped.values()) - {NAME})
    which = f"{len(names)} of its series have" if some_are else "its series have"
    return Finding(
        step="resources",
        reason="LabelNotMapped",
        message=f"{which} no label that `resources` maps to a resource, so they cannot be requested: {some(names)} (labels: {some(labels, 10)})",
        fix=f"Say under {rule.path}.resources.overrides which label names which resource, such as `pod_name: {{resource: pod}}`.",
    )
