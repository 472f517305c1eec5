"""Where ours differs on purpose: each row of docs/deviations.md that a request can show, by name and as a predicate.

A predicate must account for the whole difference, so that nothing slips through beside something that was meant.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from testbed.differential.adapter.comparison import Seen
from testbed.differential.adapter.questions import USAGE, Question
from testbed.differential.adapter.world import CLUSTER_SCOPED

PROTOBUF = "application/vnd.kubernetes.protobuf"
INT64_MIN_MILLI = "-9223372036854775808m"
NEWER_WORDS = {
    "63 characters": "63 bytes",
    "a qualified name must consist of": "a valid label key must consist of",
}
UNABLE_TO_FETCH = "Internal error occurred: unable to fetch metrics"
USAGE_LISTS = ("PodMetricsList", "NodeMetricsList")
OTHER_FORMS = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
NO_PROTOBUF, CUSTOM_TIMESTAMPS, USAGE_IN_FULL = "no-protobuf", "custom-timestamps", "usage-in-full"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A question and its two different answers."""

    question: Question
    theirs: Seen
    ours: Seen


Predicate = Callable[[Case], bool]


def refusals_say_why(case: Case) -> bool:
    """The same refusal to the letter, except that ours goes on after the peer's message with the cause."""
    return _are_statuses(case) and _same_refusal(case.theirs.document, case.ours)


def newer_validation_words(case: Case) -> bool:
    """apimachinery has told what is wrong with a label in other words since the peer was built."""
    if not _are_statuses(case):
        return False
    theirs = dict(case.theirs.document)
    for old, new in NEWER_WORDS.items():
        theirs["message"] = theirs.get("message", "").replace(old, new)
    return theirs != case.theirs.document and _same_refusal(theirs, case.ours)


def unknown_paths_are_refused(case: Case) -> bool:
    """The peer answers with a list of its paths, which no client of Kubernetes reads; ours with 404."""
    document = case.theirs.document
    return (
        isinstance(document, dict)
        and document.keys() == {"paths"}
        and case.ours.status == 404
        and (case.theirs.status == 404 or case.question.target.split("?")[0] == "/")
    )


def no_protobuf(case: Case) -> bool:
    """Whoever takes nothing but protobuf gets 406; the comparison itself turns to JSON where that is offered, too."""
    if _are_statuses(case) and case.ours.status == 406:
        theirs = dict(case.theirs.document)
        theirs["message"] = theirs["message"].replace(f", {PROTOBUF}", "")
        return bool(theirs == case.ours.document)
    only = case.question.accept.startswith(PROTOBUF) and "json" not in case.question.accept
    return only and case.theirs.content_type.startswith(PROTOBUF) and case.ours.status == 406


def usage_in_full(case: Case) -> bool:
    """Tables and bare metadata of metrics.k8s.io are not made; the comparison turns to JSON where that is offered, too."""
    accept, target = case.question.accept, case.question.target
    # It tries to make bare metadata of everything, and finds out late that it cannot.
    bare = "as=PartialObjectMetadata" in accept
    table = "as=Table" in accept and target.startswith(f"/apis/{USAGE}/")
    other = case.theirs.status != 406 or _message(case.theirs).startswith("you requested")
    return case.ours.status == 406 and other and (bare or table)


def list_options(case: Case) -> bool:
    """Options that say nothing about a list of metrics are not looked at, nor any on a path that does not exist."""
    told = _message(case.theirs)
    if case.theirs.status == 422:
        forbidden = ("resourceVersionMatch is forbidden", "sendInitialEvents is forbidden")
        return any(each in told for each in forbidden) and case.ours.status in (200, 404, 500)
    return "invalid timeout specified" in told and case.ours.status == 404


def empty_path_segments(case: Case) -> bool:
    """No namespace is not a namespace."""
    path = case.question.target.split("?")[0]
    return "//" in path and case.ours.status == 404


def malformed_escapes(case: Case) -> bool:
    """A path with half an escape is refused by both, by ours in a Status."""
    if case.question.method == "HEAD":
        return "%" in case.question.target and case.theirs.status == case.ours.status == 400
    return (
        (case.theirs.status, case.theirs.document) == (400, "400 Bad Request")
        and case.ours.status == 400
        and "hexadecimal digits" in _message(case.ours)
    )


def cluster_scoped_resources(case: Case) -> bool:
    """A kind without a namespace is asked for without a namespace; the peer wants one that its objects do not have."""
    path = case.question.target.split("?")[0].split("/")
    if "namespaces" in path:
        return case.ours.status == 404 and "(not namespaced)" in _message(case.ours)
    custom = any(part in CLUSTER_SCOPED or part.startswith("planet") for part in path)
    echo = '"!=" is not a valid label selector operator'  # found out with the value at hand
    return (
        custom
        and case.theirs.status == 404
        and (case.ours.status in (200, 404, 406) or _message(case.ours).startswith(echo))
    )


def listed_as_not_namespaced(case: Case) -> bool:
    """The discovery document says so."""
    if not all(_kind(each) == "APIResourceList" for each in (case.theirs, case.ours)):
        return False
    document = dict(case.theirs.document)
    document["resources"] = sorted(
        (
            {**each, "namespaced": False} if each["name"].split("/")[0] in CLUSTER_SCOPED else each
            for each in document["resources"]
        ),
        key=lambda each: (each["name"], each["namespaced"]),
    )
    return bool(document != case.theirs.document and document == case.ours.document)


def values_beyond_int64(case: Case) -> bool:
    """NaN (external), infinities and what does not fit: the peer serves the least number there is, ours refuses."""
    served = any(item.get("value") == INT64_MIN_MILLI for item in _items(case.theirs))
    return (
        # It refuses a form that it does not have, and a selector that it cannot echo, only when it has a value.
        (served or case.theirs.status == 406 or '"!=" is not a valid' in _message(case.theirs))
        and case.ours.status == 500
        and "the value is" in _message(case.ours)
    )


def not_found_before_listing(case: Case) -> bool:
    """No such metric is 404 to us, whoever it is asked for; the peer looks for the objects first, and cannot list them."""
    return (
        case.theirs.status == 500
        and "unable to list matching resources" in _message(case.theirs)
        and case.ours.status == 404
        and _message(case.ours).startswith("the server could not find the metric")
    )


def own_version(case: Case) -> bool:
    """/version is Loadline's, and in the forms that ours has."""
    return case.question.target.split("?")[0] == "/version" and (
        case.theirs.document.keys() == case.ours.document.keys()
        or (case.ours.status == 406 and "as=" in case.question.accept)
    )


def usage_beyond_int64(case: Case) -> bool:
    """A pod whose usage is no number is left out of metrics.k8s.io, alone."""
    if _kind(case.theirs) in ("PodMetrics", "NodeMetrics"):
        return _is_beyond(case.theirs.document) and case.ours.status == 404
    kept = [item for item in _items(case.theirs) if not _is_beyond(item)]
    return len(kept) < len(_items(case.theirs)) and bool(
        {**case.theirs.document, "items": kept} == case.ours.document
    )


DEVIATIONS: dict[str, tuple[Predicate, ...]] = {
    "refusals-say-why": (refusals_say_why,),
    "newer-validation-words": (newer_validation_words,),
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
}


def usage_errors(case: Case) -> bool:
    """Usage that cannot be had is an error, and not a list of nothing or an object that is not there."""
    return _is_nothing(case.theirs) and _message(case.ours).startswith(
        f"{UNABLE_TO_FETCH}: resourceRules."
    )


def matrix_and_string(case: Case) -> bool:
    """A result that is no usage is an error, too."""
    told = _message(case.ours)
    return _is_nothing(case.theirs) and (
        told.startswith(UNABLE_TO_FETCH) and told.endswith("and yields a matrix")
    )


OF_FAULTS: dict[str, tuple[Predicate, ...]] = {
    "usage-errors": (usage_errors,),
    "matrix-and-string": (matrix_and_string,),
}
"""What only shows while Prometheus fails."""

NOTED = (NO_PROTOBUF, USAGE_IN_FULL, CUSTOM_TIMESTAMPS)
"""What the comparison has to look through, and notes by itself."""


def explain(question: Question, theirs: Seen, ours: Seen) -> str | None:
    """The name of the deviation that explains all of the difference, None when nobody meant it."""
    case = Case(question=question, theirs=theirs, ours=ours)
    for name, predicates in (DEVIATIONS | OF_FAULTS).items():
        if any(applies(case) for applies in predicates):
            return name
    return None


def _kind(seen: Seen) -> str:
    return str(seen.document.get("kind", "")) if isinstance(seen.document, dict) else ""


def _message(seen: Seen) -> str:
    return str(seen.document.get("message", "")) if isinstance(seen.document, dict) else ""


def _items(seen: Seen) -> list[dict[str, Any]]:
    return (seen.document.get("items") or []) if isinstance(seen.document, dict) else []


def _is_nothing(seen: Seen) -> bool:
    """Usage that is not there: an empty list, or no such object."""
    empty = _kind(seen) in USAGE_LISTS and not _items(seen)
    return seen.status == 404 or (seen.status == 200 and empty)


def _is_beyond(item: dict[str, Any]) -> bool:
    usages = [item.get("usage", {}), *(each["usage"] for each in item.get("containers", []))]
    return any(INT64_MIN_MILLI in usage.values() for usage in usages)


def _are_statuses(case: Case) -> bool:
    return _kind(case.theirs) == _kind(case.ours) == "Status" and (
        case.theirs.status,
        case.theirs.content_type,
    ) == (case.ours.status, case.ours.content_type)


def _same_refusal(theirs: dict[str, Any], ours: Seen) -> bool:
    begins = str(theirs.get("message", "")).rstrip()
    return _message(ours).startswith(begins) and _without_messages(theirs) == _without_messages(
        ours.document
    )


def _without_messages(document: Any) -> Any:
    if isinstance(document, dict):
        return {k: _without_messages(v) for k, v in document.items() if k != "message"}
    if isinstance(document, list):
        return [_without_messages(each) for each in document]
    return document


def another_form(theirs: Seen, ours: Seen) -> str | None:
    """The deviation by which the peer answers in a form that we do not have, while we answer in JSON."""
    if ours.status == 406 or ours.content_type != "application/json":
        return None
    if theirs.content_type.startswith(PROTOBUF):
        return NO_PROTOBUF
    return USAGE_IN_FULL if _kind(theirs) in OTHER_FORMS else None
