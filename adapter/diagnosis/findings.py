"""What is wrong with one request to the metrics APIs, and how to fix it: a function for each step that may fail.

Each message names what was found; each fix is something that its reader can do.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from adapter.diagnosis.explanation import Finding
from adapter.documents.signal_contract import PARTIAL, Judgement, Outcome, Wrong
from adapter.model import (
    NAMESPACES,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    GroupResource,
    MetricQuery,
    Reaction,
    ResourceMetricRequest,
    ResultKind,
    Rows,
    Sample,
)
from adapter.promql.naming import NoLabel
from wire.api.wording import some

NAMES_SHOWN_MAX: Final = 8

_OUTCOME: Final = {
    Outcome.USED: "is accepted",
    Outcome.ZERO: "counts as 0",
    Outcome.LAST: "is replaced by the last good value",
    Outcome.LEFT_OUT: "is left out of the response",
    Outcome.NOT_FOUND: "is an error (404)",
    Outcome.FAILED: "is an error (500)",
}
_ERRORS: Final = (Outcome.NOT_FOUND, Outcome.FAILED)


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
        fix="Paths are /apis/custom.metrics.k8s.io/v1beta2/namespaces/NAMESPACE/RESOURCE/NAME/METRIC (or v1beta1; NAME may be *), "
        ".../namespaces/NAMESPACE/metrics/METRIC, /apis/external.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/METRIC, "
        "and /apis/metrics.k8s.io/v1beta1/namespaces/NAMESPACE/pods.",
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
            fix=f"Set in the rule's `resources.overrides` which label names {error.resource}, or write a `template`.",
        )
    return Finding(
        step="query",
        reason="QueryNotBuilt",
        message=message,
        fix="Fix the rule's template, or remove the selector that has no PromQL form from the request.",
    )


def no_answer(
    *, backend: str, cause: str, retryable: bool, fields: str = "`metricsQuery` or `query`"
) -> Finding:
    """Prometheus did not answer, or refused the query. `fields`: where the rule has it."""
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
        fix=f"Run the query in Prometheus itself and fix the rule's {fields}.",
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


def prometheus_text(value: float) -> str:
    """A number in Prometheus' notation: 12, 1.5, NaN, +Inf."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def about_values(
    query: MetricQuery,
    evaluation: Evaluation,
    request: CustomMetricRequest | ExternalMetricRequest,
    judgements: Sequence[Judgement],
    *,
    is_refused: bool,
    now_seconds: float,
) -> list[Finding]:
    """What is remarkable about the rows of a request, and what it gets for them; errors first.

    `judgements` are those of the response, which is an error if `is_refused`. `now_seconds` is by the monotonic clock.
    """
    if is_refused and not judgements:
        # Nothing was read then.
        return [] if evaluation.kind is ResultKind.VECTOR else [_not_a_vector(evaluation.kind)]
    troubles: dict[tuple[Outcome, Wrong], list[Judgement]] = {}
    if evaluation.partial and query.contract.on_partial is Reaction.ACCEPT:
        troubles[Outcome.USED, Wrong.PARTIAL] = [Judgement("", PARTIAL, Outcome.USED)]
    for each in judgements:
        troubles.setdefault((each.outcome, each.trouble.wrong), []).append(each)
    return [
        _about(troubles[key], f"this {_OUTCOME[key[0]]}", query, evaluation, request, now_seconds)
        for key in sorted(troubles, key=lambda key: key[0] not in _ERRORS)
    ]


def _not_a_vector(kind: ResultKind) -> Finding:
    return Finding(
        step="value",
        reason="NotAVector",
        message=f"the query yields a {kind.value}, but a metric needs an instant vector",
        fix="Wrap a range selector in rate() or avg_over_time(), and a scalar in vector().",
    )


def _about(
    judgements: Sequence[Judgement],
    becomes: str,
    query: MetricQuery,
    evaluation: Evaluation,
    request: CustomMetricRequest | ExternalMetricRequest,
    now_seconds: float,
) -> Finding:
    """The finding for objects or rows with the same trouble and the same outcome."""
    whose = some([each.name for each in judgements if each.name], NAMES_SHOWN_MAX)
    rows = [each.trouble.row for each in judgements if each.trouble.row is not None]
    wrong = judgements[0].trouble.wrong
    match wrong:
        case Wrong.PARTIAL:
            return Finding(
                step="value",
                reason="PartialAnswer",
                message=f"some stores behind Prometheus did not answer; because of signal.onPartial, {becomes}",
                fix="See the warnings of the query, and the stores of Thanos or VictoriaMetrics.",
            )
        case Wrong.EMPTY:
            count = len(evaluation.samples)
            but = f" and none for {whose or 'this request'}" if count else ""
            return Finding(
                step="value",
                reason="NoRows",
                message=f"the query of {query.rule} yields {count or 'no'} {'row' if count < 2 else 'rows'}{but}; {becomes}",
                fix=_why_no_rows(query, request),
            )
        case Wrong.STALE:
            oldest_seconds = min(row.timestamp_seconds for row in rows)
            age_seconds = evaluation.samples_now(now_seconds) - oldest_seconds
            return Finding(
                step="value",
                reason="StaleSample",
                message=f"a sample is {age_seconds:.0f}s old, more than signal.staleAfter; {becomes}",
                fix="Check that the target is still scraped.",
            )
    shown = "a native histogram" if rows[0].is_histogram else prometheus_text(rows[0].value)
    return Finding(
        step="value",
        reason="NotANumber",
        message=f"Prometheus returned {shown}{f' for {whose}' if whose else ''}; because of signal.onNaN, {becomes}",
        fix=_fix_of(rows[0], wrong),
    )


def _fix_of(row: Sample, wrong: Wrong) -> str:
    if row.is_histogram:
        return "Use histogram_quantile() or histogram_sum() on native histograms."
    if wrong is Wrong.NAN:
        return "NaN usually means 0/0: exclude a divisor of 0 (`... > 0`), or set signal.onNaN (fail, zero, last, omit)."
    return (
        "An infinity usually means a division by 0: exclude a divisor of 0 (`... > 0`), or set signal.onNaN (fail, last, omit). "
        "`zero` does not apply, because a 0 would scale down: an infinity is treated as with `last`."
    )


def _why_no_rows(query: MetricQuery, request: CustomMetricRequest | ExternalMetricRequest) -> str:
    if isinstance(request, ExternalMetricRequest):
        return "Run the query in Prometheus: no series has all of these labels now. An external metric is restricted to the namespace of the request unless `resources.namespaced: false`."
    label = query.rows.object_label
    return (
        f"Run the query in Prometheus: the series must carry the object's name in the label {label!r} "
        "and its namespace. Scraped without honor_labels, Prometheus renames a target's own labels to `exported_...`; "
        "a new pod has no rate() before its second sample."
    )


def usage_missing(request: ResourceMetricRequest, why: Mapping[str, str]) -> Finding:
    """Pods or nodes without usage; `why` has a sentence for each."""
    names = {sentence: [name for name in why if why[name] == sentence] for sentence in why.values()}
    causes = [f"{sentence} ({some(of, NAMES_SHOWN_MAX)})" for sentence, of in names.items()]
    return Finding(
        step="value",
        reason="NoRows",
        message=f"no usage is served: {'; '.join(causes)}",
        fix=f"Run both queries in Prometheus: `resourceRules` must map the labels of {request.resource} and of {NAMESPACES} as they are on the series.",
    )
