"""What is wrong with one request to the metrics APIs, and how to fix it: a function for each step that may fail.

Each message names what was found; each fix is something that its reader can do.
"""

import math
from collections.abc import Sequence
from typing import Final

from adapter.diagnosis.explanation import Finding
from adapter.documents.signal_contract import milli, trouble
from adapter.model import (
    NAMESPACES,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    GroupResource,
    MetricQuery,
    MetricRequest,
    Reaction,
    ResourceMetricRequest,
    ResultKind,
    Rows,
    Sample,
)
from adapter.model.wording import some
from adapter.promql.naming import NoLabel

NAMES_SHOWN_MAX: Final = 8

_OUTCOME: Final = {
    Reaction.FAIL: "is an error",
    Reaction.ZERO: "counts as 0",
    Reaction.LAST: "is replaced by the last good value while that is recent enough",
    Reaction.OMIT: "is left out",
    Reaction.ACCEPT: "is accepted",
}


def group_not_served(group: str) -> Finding:
    """No rule is for that API."""
    field = {
        "external.metrics.k8s.io": "externalRules` or `metrics",
        "metrics.k8s.io": "resourceRules",
    }
    return Finding(
        step="request",
        reason="GroupNotServed",
        message=f"this adapter does not serve {group}: its configuration has no rule for it",
        fix=f"Add rules under `{field.get(group, 'rules` or `metrics')}`, or see which server has it: "
        f"kubectl get apiservices | grep {group}",
    )


def bad_request(message: str) -> Finding:
    """The path is not that of a metric."""
    return Finding(
        step="request",
        reason="BadRequest",
        message=message,
        fix="Paths are /apis/custom.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/RESOURCE/NAME/METRIC (NAME may be *), "
        ".../namespaces/NAMESPACE/metrics/METRIC, and /apis/external.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/METRIC.",
    )


def unknown_resource(resource: GroupResource) -> Finding:
    """The cluster has no such resource."""
    return Finding(
        step="rule",
        reason="UnknownResource",
        message=f"the cluster serves no resource {resource}",
        fix="See `kubectl api-resources`; names are plural or singular, with the group after a dot.",
    )


def no_objects(request: CustomMetricRequest) -> Finding:
    """The selector matches no object."""
    where = f" in the namespace {request.namespace}" if request.namespace else ""
    scope = f" -n {request.namespace}" if request.namespace else ""
    selector = f" -l '{request.selector}'" if not request.selector.is_empty() else ""
    return Finding(
        step="objects",
        reason="NoObjects",
        message=f"no {request.resource}{where} match the label selector '{request.selector}'",
        fix=f"Compare with: kubectl get {request.resource}{scope}{selector}. The labels are those of the objects, not of the series.",
    )


def objects_not_listed(cause: str) -> Finding:
    """The API server did not list the objects."""
    return Finding(
        step="objects",
        reason="ObjectsNotListed",
        message=cause,
        fix="Grant the adapter's ServiceAccount list and watch on the resource (chart: rbac.describedResources), "
        "or fix the connection to the API server.",
    )


def query_not_built(error: BaseException | None, message: str) -> Finding:
    """A rule serves the metric, but no query can be built for this request."""
    if isinstance(error, NoLabel):
        return Finding(
            step="query",
            reason="LabelNotMapped",
            message=message,
            fix=f"Say under the rule's `resources.overrides` which label names {error.resource}, or write a `template`.",
        )
    return Finding(
        step="query",
        reason="QueryNotBuilt",
        message=message,
        fix="Fix the rule's template, or remove the selector that has no PromQL form from the request.",
    )


def no_answer(*, backend: str, cause: str, retryable: bool) -> Finding:
    """Prometheus did not answer, or refused the query."""
    if retryable:
        return Finding(
            step="samples",
            reason="PrometheusDown",
            message=f"Prometheus ({backend}) did not answer: {cause}",
            fix="Check that it runs and that --prometheus-url (or the backend's url) and the credentials are right. "
            "Until then, autoscalers keep their replicas.",
        )
    return Finding(
        step="samples",
        reason="QueryRefused",
        message=f"Prometheus ({backend}) refused the query: {cause}",
        fix="Run the query in Prometheus itself and fix the rule's `metricsQuery` or `query`.",
    )


def counted(evaluation: Evaluation, rows: Rows, names: Sequence[str]) -> list[Sample]:
    """The rows that belong to a request for these objects; the client may have no right to see the others."""
    wanted, label = set(names), rows.object_label
    return [
        row
        for row in evaluation.samples
        if all(row.labels.get(key, "") == value for key, value in rows.where)
        and (not label or row.labels.get(label, "") in wanted)
    ]


def about_values(
    query: MetricQuery,
    evaluation: Evaluation,
    having: Sequence[Sample],
    request: MetricRequest,
    names: Sequence[str],
    *,
    now_seconds: float,
) -> list[Finding]:
    """What is remarkable about the samples, whether or not the request succeeded."""
    if evaluation.kind not in (ResultKind.VECTOR, ResultKind.SCALAR):
        return [
            Finding(
                step="value",
                reason="NotAVector",
                message=f"the query yields a {evaluation.kind.value}, but a metric needs an instant vector",
                fix="Wrap a range selector in rate() or avg_over_time().",
            )
        ]
    found = [
        _partial(query.contract.on_partial) if evaluation.partial else None,
        _no_rows(query, evaluation, having, request, names),
        _not_a_number(query, having, now_seconds),
        _stale(query, having, now_seconds),
    ]
    return [each for each in found if each is not None]


def _partial(reaction: Reaction) -> Finding:
    return Finding(
        step="value",
        reason="PartialAnswer",
        message=f"some stores behind Prometheus did not answer; by signal.onPartial, this {_OUTCOME[reaction]}",
        fix="See the warnings of the query, and the stores of Thanos or Mimir.",
    )


def _no_rows(
    query: MetricQuery,
    evaluation: Evaluation,
    having: Sequence[Sample],
    request: MetricRequest,
    names: Sequence[str],
) -> Finding | None:
    if isinstance(request, ExternalMetricRequest):
        missing: list[str] = []
        if having:
            return None
    else:
        label = query.rows.object_label
        found = {row.labels.get(label, "") for row in having}
        missing = [name for name in names if name not in found]
        if not missing:
            return None
    count = len(evaluation.samples)
    rows = "no row" if not count else f"{count} {'row' if count == 1 else 'rows'}"
    but = (
        f" and none for {some(missing, NAMES_SHOWN_MAX)}"
        if missing
        else " and none of them for this request"
    )
    outcome = f"this {_OUTCOME[query.contract.on_empty]}"
    if having or query.contract.on_empty is Reaction.OMIT:
        outcome = "it is left out of the response"
    return Finding(
        step="value",
        reason="NoRows",
        message=f"the query of {query.rule} yields {rows}{but if count else ''}; {outcome}",
        fix=_why_no_rows(query, request),
    )


def _why_no_rows(query: MetricQuery, request: MetricRequest) -> str:
    if isinstance(request, ExternalMetricRequest):
        return "Run the query in Prometheus: no series has all of these labels now. An external metric is restricted to the namespace of the request unless `resources.namespaced: false`."
    label = query.rows.object_label
    return (
        f"Run the query in Prometheus: the series must carry the object's name in the label {label!r} "
        "and its namespace. Scraped without honor_labels, Prometheus renames a target's own labels to `exported_...`; "
        "a new pod has no rate() before its second sample."
    )


def _not_a_number(
    query: MetricQuery, having: Sequence[Sample], now_seconds: float
) -> Finding | None:
    odd = [row for row in having if milli(row.value) is None]
    if not odd:
        return None
    label = query.rows.object_label
    names = list(dict.fromkeys(row.labels.get(label, "") for row in odd)) if label else []
    whose = f" for {some(names, NAMES_SHOWN_MAX)}" if names else ""
    value = odd[0].value
    shown = "a native histogram" if odd[0].is_histogram else "NaN" if math.isnan(value) else value
    return Finding(
        step="value",
        reason="NotANumber",
        message=f"Prometheus returned {shown}{whose}; by signal.onNaN, this {_outcome(query, odd[0], now_seconds)}",
        fix="Use histogram_quantile() or histogram_sum() on native histograms."
        if odd[0].is_histogram
        else "NaN usually means 0/0: exclude a divisor of 0 (`... > 0`), or set signal.onNaN (fail, zero, last, omit).",
    )


def _stale(query: MetricQuery, having: Sequence[Sample], now_seconds: float) -> Finding | None:
    numbers = [row for row in having if milli(row.value) is not None]
    old = [row for row in numbers if trouble(row, query, now_seconds) is not None]
    if not old:
        return None
    oldest = min(old, key=lambda row: row.timestamp_seconds)
    age_seconds = now_seconds - oldest.timestamp_seconds
    return Finding(
        step="value",
        reason="StaleSample",
        message=f"a sample is {age_seconds:.0f}s old, more than signal.staleAfter; this {_outcome(query, oldest, now_seconds)}",
        fix="Check that the target is still scraped.",
    )


def _outcome(query: MetricQuery, row: Sample, now_seconds: float) -> str:
    """What a request gets for this row, by the function that answers it."""
    wrong = trouble(row, query, now_seconds)
    reaction = Reaction.ACCEPT if wrong is None else wrong[0]
    if reaction is Reaction.LAST and query.contract.last_for_seconds is None:
        return "is left out of a list, and is an error alone"
    return _OUTCOME[reaction]


def usage_missing(request: ResourceMetricRequest, names: Sequence[str]) -> Finding:
    """Pods or nodes without usage."""
    return Finding(
        step="value",
        reason="NoRows",
        message=f"Prometheus has no cpu or no memory usage of {some(names, NAMES_SHOWN_MAX)}",
        fix=f"Run both queries in Prometheus: `resourceRules` must map the labels of {request.resource} and of {NAMESPACES} as they are on the series.",
    )
