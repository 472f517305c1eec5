"""What is wrong with one question to the metrics APIs, and how to mend it: one function per step at which it may end.

Each sentence names what was seen; each fix is something that its reader can do.
"""

import math
from collections.abc import Sequence
from typing import Final

from adapter.diagnosis.explanation import Finding
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
from adapter.translate.naming import NoLabel

NAMES_SHOWN_MAX: Final = 8

_OUTCOME: Final = {
    Reaction.FAIL: "is an error",
    Reaction.ZERO: "counts as 0",
    Reaction.LAST: "is replaced by the last good value while that is young enough",
    Reaction.OMIT: "is left out",
    Reaction.ACCEPT: "is taken as it is",
}


def group_not_served(group: str) -> Finding:
    """No rule feeds that API."""
    field = {
        "external.metrics.k8s.io": "externalRules` or `metrics",
        "metrics.k8s.io": "resourceRules",
    }
    return Finding(
        step="request",
        reason="GroupNotServed",
        message=f"this adapter does not serve {group}: its configuration has no rule for it",
        fix=f"Add rules under `{field.get(group, 'rules` or `metrics')}`, or ask whoever serves it: "
        f"kubectl get apiservices | grep {group}",
    )


def bad_request(message: str) -> Finding:
    """The path says nothing that can be asked."""
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
    """The selector matches nothing."""
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
    """The API server did not say which objects there are."""
    return Finding(
        step="objects",
        reason="ObjectsNotListed",
        message=cause,
        fix="Grant the adapter's ServiceAccount list and watch on the resource (chart: rbac.describedResources), "
        "or mend the connection to the API server.",
    )


def query_not_built(error: BaseException | None, message: str) -> Finding:
    """A rule serves the metric and no query can be made for this request."""
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
        fix="Mend the rule's template, or ask without the selector that has no PromQL form.",
    )


def no_answer(*, backend: str, cause: str, retryable: bool) -> Finding:
    """Prometheus failed or refused."""
    if retryable:
        return Finding(
            step="samples",
            reason="PrometheusDown",
            message=f"Prometheus ({backend}) did not answer: {cause}",
            fix="Check that it runs and that --prometheus-url (or the backend's url) and the credentials are right. "
            "Autoscalers keep their replicas meanwhile.",
        )
    return Finding(
        step="samples",
        reason="QueryRefused",
        message=f"Prometheus ({backend}) refuses the query: {cause}",
        fix="Run the query in Prometheus itself and mend the rule's `metricsQuery` or `query`.",
    )


def counted(evaluation: Evaluation, rows: Rows, names: Sequence[str]) -> list[Sample]:
    """The rows that belong to a request for these objects; others may be of namespaces that its asker may not see."""
    wanted, label = set(names), rows.object_label
    return [
        row
        for row in evaluation.samples
        if all(row.labels.get(key, "") == value for key, value in rows.where)
        and (not label or row.labels.get(label, "") in wanted)
    ]


def about_values(
    question: MetricQuery,
    evaluation: Evaluation,
    having: Sequence[Sample],
    request: MetricRequest,
    names: Sequence[str],
    *,
    now_seconds: float,
) -> list[Finding]:
    """What is to be said of the samples, whether or not there was an answer."""
    if evaluation.kind not in (ResultKind.VECTOR, ResultKind.SCALAR):
        return [
            Finding(
                step="value",
                reason="NotAVector",
                message=f"the query yields a {evaluation.kind.value}, and a metric is made of an instant vector",
                fix="Wrap a range selector in rate() or avg_over_time().",
            )
        ]
    found = [
        _partial(question.contract.on_partial) if evaluation.partial else None,
        _no_rows(question, evaluation, having, request, names),
        _not_a_number(question, having),
        _stale(question, having, now_seconds),
    ]
    return [each for each in found if each is not None]


def _partial(reaction: Reaction) -> Finding:
    return Finding(
        step="value",
        reason="PartialAnswer",
        message=f"some stores behind Prometheus did not answer; by signal.onPartial that {_OUTCOME[reaction]}",
        fix="See the query's warnings, and the stores of Thanos or Mimir.",
    )


def _no_rows(
    question: MetricQuery,
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
        label = question.rows.object_label
        found = {row.labels.get(label, "") for row in having}
        missing = [name for name in names if name not in found]
        if not missing:
            return None
    count = len(evaluation.samples)
    rows = "no row" if not count else f"{count} {'row' if count == 1 else 'rows'}"
    but = f" and none for {_some(missing)}" if missing else " and none of them for this request"
    outcome = f"that {_OUTCOME[question.contract.on_empty]}"
    if having or question.contract.on_empty is Reaction.OMIT:
        outcome = "the answer leaves that out"
    return Finding(
        step="value",
        reason="NoRows",
        message=f"the query of {question.rule} yields {rows}{but if count else ''}; {outcome}",
        fix=_why_no_rows(question, request),
    )


def _why_no_rows(question: MetricQuery, request: MetricRequest) -> str:
    if isinstance(request, ExternalMetricRequest):
        return "Run the query in Prometheus: no series has all of these labels now. An external metric is restricted to the asker's namespace unless `resources.namespaced: false`."
    label = question.rows.object_label
    return (
        f"Run the query in Prometheus: the series must carry the object's name in the label {label!r} "
        "and its namespace. Scraped without honor_labels, Prometheus renames a target's own labels to `exported_...`; "
        "a new pod has no rate() before its second sample."
    )


def _not_a_number(question: MetricQuery, having: Sequence[Sample]) -> Finding | None:
    odd = [row for row in having if not math.isfinite(row.value)]
    if not odd:
        return None
    label = question.rows.object_label
    names = list(dict.fromkeys(row.labels.get(label, "") for row in odd)) if label else []
    whose = f" for {_some(names)}" if names else ""
    value = odd[0].value
    reaction = question.contract.on_nan
    if not math.isnan(value) and reaction is Reaction.ZERO:
        reaction = Reaction.FAIL
    return Finding(
        step="value",
        reason="NotANumber",
        message=f"Prometheus says {'NaN' if math.isnan(value) else value}{whose}, which by signal.onNaN {_OUTCOME[reaction]}",
        fix="NaN is mostly 0/0: keep the divisor from being 0 (`... > 0`), or say with signal.onNaN what it means (fail, zero, last, omit).",
    )


def _stale(question: MetricQuery, having: Sequence[Sample], now_seconds: float) -> Finding | None:
    limit = question.contract.stale_after_seconds
    if limit is None:
        return None
    oldest = max((now_seconds - row.timestamp_seconds for row in having), default=0.0)
    if oldest <= limit:
        return None
    return Finding(
        step="value",
        reason="StaleSample",
        message=f"a sample is {oldest:.0f}s old, more than signal.staleAfter; that {_OUTCOME[question.contract.on_stale]}",
        fix="Check that the target is still scraped.",
    )


def usage_missing(request: ResourceMetricRequest, names: Sequence[str]) -> Finding:
    """Pods or nodes without usage."""
    return Finding(
        step="value",
        reason="NoRows",
        message=f"Prometheus has no cpu or no memory usage of {_some(names)}",
        fix=f"Run both queries in Prometheus: `resourceRules` must map the labels of {request.resource} and of {NAMESPACES} as the series carry them.",
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN_MAX])
    more = len(names) - NAMES_SHOWN_MAX
    return f"{shown} and {more} more" if more > 0 else shown
