"""The intended differences: each row of docs/deviations.md that a request can show, as a named predicate.

A predicate must account for the whole difference, so an intended one cannot hide another.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from testbed.differential.adapter.cluster_and_series import CLUSTER_SCOPED
from testbed.differential.adapter.metrics_requests import USAGE, MetricsRequest
from testbed.differential.adapter.response_comparison import ComparableResponse

PROTOBUF = "application/vnd.kubernetes.protobuf"
YAML = "application/yaml"
INT64_MIN_MILLI = "-9223372036854775808m"
REWORDED = {
    "63 characters": "63 bytes",
    "a qualified name must consist of": "a valid label key must consist of",
}
UNABLE_TO_FETCH = "Internal error occurred: unable to fetch metrics"
USAGE_LISTS = ("PodMetricsList", "NodeMetricsList")
OTHER_FORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
_WORD = re.compile(r"[A-Za-z_:][\w:]*")
_BY = re.compile(r"\bby \(([^)]*)\)")
_MATCHER = re.compile(r'(\w+)(?:=~|!~|!=|=)"(?:[^"\\]|\\.)*"')
NO_PROTOBUF, CUSTOM_TIMESTAMPS, USAGE_IN_FULL = "no-protobuf", "custom-timestamps", "usage-in-full"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A request and its two different responses.

    `queries`: what prometheus-adapter queried for it, and Loadline.
    """

    request: MetricsRequest
    upstream: ComparableResponse
    loadline: ComparableResponse
    queries: tuple[Sequence[str], Sequence[str]] = ((), ())


Predicate = Callable[[Case], bool]


def errors_include_the_cause(case: Case) -> bool:
    """The same error; Loadline's message continues after prometheus-adapter's with the cause."""
    return _are_statuses(case) and _same_error(case.upstream.document, case.loadline)


def newer_validation_messages(case: Case) -> bool:
    """apimachinery has reworded its label validation since the version in prometheus-adapter."""
    if not _are_statuses(case):
        return False
    upstream = dict(case.upstream.document)
    for old, new in REWORDED.items():
        upstream["message"] = upstream.get("message", "").replace(old, new)
    return upstream != case.upstream.document and _same_error(upstream, case.loadline)


def unknown_paths_are_refused(case: Case) -> bool:
    """prometheus-adapter returns a list of its paths, which no Kubernetes client reads; Loadline returns 404."""
    document = case.upstream.document
    return (
        isinstance(document, dict)
        and document.keys() == {"paths"}
        and case.upstream.status == case.loadline.status == 404
    )


def own_paths(case: Case) -> bool:
    """`/` lists the paths of each program."""
    documents = (case.upstream.document, case.loadline.document)
    return (
        case.request.target.split("?")[0] == "/"
        and all(isinstance(each, dict) and each.keys() == {"paths"} for each in documents)
        and (case.upstream.status, case.upstream.content_type)
        == (case.loadline.status, case.loadline.content_type)
    )


def no_protobuf(case: Case) -> bool:
    """A client that accepts only protobuf gets 406. Where JSON is accepted as well, the comparison uses JSON."""
    if _are_statuses(case) and case.loadline.status == 406:
        upstream = dict(case.upstream.document)
        upstream["message"] = upstream["message"].replace(f", {PROTOBUF}", "")
        return bool(upstream == case.loadline.document)
    only = case.request.accept.startswith(PROTOBUF) and "json" not in case.request.accept
    return only and case.upstream.content_type.startswith(PROTOBUF) and case.loadline.status == 406


def usage_in_full(case: Case) -> bool:
    """metrics.k8s.io has no Table or metadata-only form. Where JSON is accepted as well, the comparison uses JSON."""
    accept, target = case.request.accept, case.request.target
    # prometheus-adapter tries to convert everything to metadata only, and fails late.
    bare = "as=PartialObjectMetadata" in accept
    table = "as=Table" in accept and target.startswith(f"/apis/{USAGE}/")
    other = case.upstream.status != 406 or _message(case.upstream).startswith("you requested")
    return case.loadline.status == 406 and other and (bare or table)


def list_options(case: Case) -> bool:
    """List options without a meaning for metrics are ignored."""
    message = _message(case.upstream)
    forbidden = ("resourceVersionMatch is forbidden", "sendInitialEvents is forbidden")
    is_forbidden = any(each in message for each in forbidden)
    return case.upstream.status == 422 and is_forbidden and case.loadline.status in (200, 404, 500)


def empty_path_segments(case: Case) -> bool:
    """An empty path segment is not a namespace."""
    path = case.request.target.split("?")[0]
    return "//" in path and case.loadline.status == 404


def malformed_escapes(case: Case) -> bool:
    """Both refuse a malformed percent escape, Loadline with a Status."""
    if case.request.method == "HEAD":
        return "%" in case.request.target and case.upstream.status == case.loadline.status == 400
    return (
        (case.upstream.status, case.upstream.document) == (400, "400 Bad Request")
        and case.loadline.status == 400
        and "hexadecimal digits" in _message(case.loadline)
    )


def cluster_scoped_resources(case: Case) -> bool:
    """Metrics of a cluster-scoped kind need no namespace in their path; prometheus-adapter requires one."""
    path = case.request.target.split("?")[0].split("/")
    if "namespaces" in path:
        refused = case.upstream.status >= 400 and case.loadline.status == 404
        return refused and "(not namespaced)" in _message(case.loadline)
    custom = any(part in CLUSTER_SCOPED or part.startswith("planet") for part in path)
    echo = '"!=" is not a valid label selector operator'  # detected only when there is a value
    return (
        custom
        and case.upstream.status == 404
        and (case.loadline.status in (200, 404, 406) or _message(case.loadline).startswith(echo))
    )


def listed_as_not_namespaced(case: Case) -> bool:
    """Discovery lists cluster-scoped kinds as not namespaced."""
    if not all(_kind(each) == "APIResourceList" for each in (case.upstream, case.loadline)):
        return False
    document = dict(case.upstream.document)
    document["resources"] = sorted(
        (
            {**each, "namespaced": False} if each["name"].split("/")[0] in CLUSTER_SCOPED else each
            for each in document["resources"]
        ),
        key=lambda each: (each["name"], each["namespaced"]),
    )
    return bool(document != case.upstream.document and document == case.loadline.document)


def values_beyond_int64(case: Case) -> bool:
    """NaN (external), infinities and overflows: prometheus-adapter serves the smallest int64, Loadline an error."""
    items = _items(case.upstream)
    served = any(item.get("value") == INT64_MIN_MILLI for item in items)
    kept = [item for item in items if item.get("value") != INT64_MIN_MILLI]
    if served and kept and _kind(case.upstream) == "MetricValueList":
        # The other objects of the list have their values.
        return bool({**case.upstream.document, "items": kept} == case.loadline.document)
    return (
        # prometheus-adapter refuses an unknown form, and a selector that it cannot echo, only when there is a value.
        (served or case.upstream.status == 406 or '"!=" is not a valid' in _message(case.upstream))
        and case.loadline.status == 500
        and "the value is" in _message(case.loadline)
    )


def not_found_before_listing(case: Case) -> bool:
    """An unknown metric is a 404 for any resource; prometheus-adapter lists the objects first, and fails."""
    return (
        case.upstream.status == 500
        and "unable to list matching resources" in _message(case.upstream)
        and case.loadline.status == 404
        and _message(case.loadline).startswith("the server could not find the metric")
    )


def own_version(case: Case) -> bool:
    """/version describes Loadline and what it offers, in the forms that Loadline supports."""
    if case.request.target.split("?")[0] != "/version":
        return False
    if case.loadline.status == 406:
        return case.upstream.status == 406 or "as=" in case.request.accept
    is_yaml = case.upstream.status == 406 and case.loadline.content_type == YAML
    return is_yaml or {*case.upstream.document, "offers"} == case.loadline.document.keys()


def usage_beyond_int64(case: Case) -> bool:
    """Only the pod whose usage is not a number is left out of metrics.k8s.io."""
    if _kind(case.upstream) in ("PodMetrics", "NodeMetrics"):
        return _is_beyond(case.upstream.document) and case.loadline.status == 404
    kept = [item for item in _items(case.upstream) if not _is_beyond(item)]
    return len(kept) < len(_items(case.upstream)) and bool(
        {**case.upstream.document, "items": kept} == case.loadline.document
    )


def shortest_of_several_series(case: Case) -> bool:
    """Of several series of one metric, Loadline queries the one with the shortest name; of the same length, the last one.

    It never queries the other one in this way.
    """
    upstream, loadline = case.queries
    found = (
        _different_words(one, other)
        for one in upstream
        if one not in loadline
        for other in loadline
    )
    return f"/{USAGE}/" not in case.request.target and any(
        (-len(other), other) > (-len(one), one)
        for different in found
        if len(different) == 1
        for one, other in different
    )


def _different_words(query: str, other: str) -> set[tuple[str, str]]:
    """The names that replace each other in two queries that are alike otherwise; empty if they are not alike.

    A query of several namespaces is like one of their objects: the labels by which it groups are not compared.
    """
    labels = _grouping_labels(query), _grouping_labels(other)
    if labels[0] != labels[1]:
        query, other = (_without_labels(each, labels[0] | labels[1]) for each in (query, other))
    if _WORD.sub("WORD", query) != _WORD.sub("WORD", other):
        return set()
    pairs = zip(_WORD.findall(query), _WORD.findall(other), strict=True)
    return {(one, another) for one, another in pairs if one != another}


def _grouping_labels(query: str) -> set[str]:
    return {label.strip() for found in _BY.findall(query) for label in found.split(",")}


def _without_labels(query: str, labels: set[str]) -> str:
    """Without the matchers of these labels, and without what it groups by."""

    def kept(matcher: re.Match[str]) -> str:
        return "" if matcher[1] in labels else matcher[0]

    return re.sub(r",(?=[,}])", "", _MATCHER.sub(kept, _BY.sub("by ()", query)))


DEVIATIONS: dict[str, tuple[Predicate, ...]] = {
    "refusals-say-why": (errors_include_the_cause,),
    "newer-validation-words": (newer_validation_messages,),
    "unknown-paths-are-refused": (unknown_paths_are_refused,),
    NO_PROTOBUF: (no_protobuf,),
    USAGE_IN_FULL: (usage_in_full,),
    "list-options": (list_options,),
    "empty-path-segments": (empty_path_segments,),
    "malformed-escapes": (malformed_escapes,),
    "cluster-scoped-resources": (cluster_scoped_resources, listed_as_not_namespaced),
    "values-beyond-int64": (values_beyond_int64, usage_beyond_int64),
    "not-found-before-listing": (not_found_before_listing,),
    "own-version": (own_version,),
    "own-paths": (own_paths,),
    "several-series-of-one-metric": (shortest_of_several_series,),
}


def usage_errors(case: Case) -> bool:
    """A failed usage query is an error instead of an empty list or a 404."""
    return _is_nothing(case.upstream) and _message(case.loadline).startswith(
        f"{UNABLE_TO_FETCH}: resourceRules."
    )


def matrix_and_string(case: Case) -> bool:
    """A result of the wrong type is an error, too."""
    message = _message(case.loadline)
    return _is_nothing(case.upstream) and (
        message.startswith(UNABLE_TO_FETCH) and message.endswith("but yields a matrix")
    )


FAULT_DEVIATIONS: dict[str, tuple[Predicate, ...]] = {
    "usage-errors": (usage_errors,),
    "matrix-and-string": (matrix_and_string,),
}
"""Deviations that only show while Prometheus fails."""

RECORDED = (NO_PROTOBUF, USAGE_IN_FULL, CUSTOM_TIMESTAMPS)
"""Deviations that the comparison itself records before it compares."""


def explain(
    request: MetricsRequest,
    upstream: ComparableResponse,
    loadline: ComparableResponse,
    queries: tuple[Sequence[str], Sequence[str]] = ((), ()),
    earlier: Sequence[str] = (),
) -> str | None:
    """The deviation that explains the whole difference; None if it is not intended.

    `queries` as in `Case`. `earlier`: what Loadline has queried before, whose results it may have used again.
    """
    upstream_queries, sent = queries
    cases = [
        Case(
            request=request, upstream=upstream, loadline=loadline, queries=(upstream_queries, each)
        )
        for each in (sent, (*earlier, *sent))
    ]
    for name, predicates in (DEVIATIONS | FAULT_DEVIATIONS).items():
        if any(applies(case) for applies in predicates for case in cases):
            return name
    return None


def _kind(response: ComparableResponse) -> str:
    return str(response.document.get("kind", "")) if isinstance(response.document, dict) else ""


def _message(response: ComparableResponse) -> str:
    return str(response.document.get("message", "")) if isinstance(response.document, dict) else ""


def _items(response: ComparableResponse) -> list[dict[str, Any]]:
    return (response.document.get("items") or []) if isinstance(response.document, dict) else []


def _is_nothing(response: ComparableResponse) -> bool:
    """Missing usage: an empty list or a 404."""
    empty = _kind(response) in USAGE_LISTS and not _items(response)
    return response.status == 404 or (response.status == 200 and empty)


def _is_beyond(item: dict[str, Any]) -> bool:
    usages = [item.get("usage", {}), *(each["usage"] for each in item.get("containers", []))]
    return any(INT64_MIN_MILLI in usage.values() for usage in usages)


def _are_statuses(case: Case) -> bool:
    return _kind(case.upstream) == _kind(case.loadline) == "Status" and (
        case.upstream.status,
        case.upstream.content_type,
    ) == (case.loadline.status, case.loadline.content_type)


def _same_error(upstream: dict[str, Any], loadline: ComparableResponse) -> bool:
    begins = str(upstream.get("message", "")).rstrip()
    return _message(loadline).startswith(begins) and _without_messages(
        upstream
    ) == _without_messages(loadline.document)


def _without_messages(document: Any) -> Any:
    if isinstance(document, dict):
        return {k: _without_messages(v) for k, v in document.items() if k != "message"}
    if isinstance(document, list):
        return [_without_messages(each) for each in document]
    return document


def another_form(upstream: ComparableResponse, loadline: ComparableResponse) -> str | None:
    """The deviation if prometheus-adapter responds in a form that Loadline lacks and Loadline responds in JSON."""
    if loadline.status == 406 or loadline.content_type != "application/json":
        return None
    if upstream.content_type.startswith(PROTOBUF):
        return NO_PROTOBUF
    return USAGE_IN_FULL if _kind(upstream) in OTHER_FORMS else None
