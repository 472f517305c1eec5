"""The failures of a metrics request as Kubernetes Statuses: prometheus-adapter's code and first sentence, then the cause.

prometheus-adapter writes causes to its log only. Here the message also says what has to change, since the HPA
controller copies it into a condition, where the owner of the HPA reads it.
"""

from collections.abc import Callable
from typing import Final

from adapter.model import CustomMetricRequest, ExternalMetricRequest, GroupResource
from wire.api.status import StatusError, internal_error, not_found

QUERY_SHOWN_MAX: Final = 400
"""A query over a thousand pods has tens of kilobytes, and a message ends up in an autoscaler's condition."""
_EXTERNAL_IN_DEFAULT = "namespaces"  # what prometheus-adapter says an external metric is for, in the namespace `default` only


WHERE_THE_QUERY_IS: Final = "; GET /debug/explain shows the query"

Refuse = Callable[[str], StatusError]


def about_query(refuse: Refuse, before: str, query: str, after: str) -> StatusError:
    """A failure of a query. Its text is only for those who may read the configuration: it says how it is made, and may name other series."""
    refused = refuse(f"{before}the query{after}{WHERE_THE_QUERY_IS}")
    refused.in_full = refuse(f"{before}{shown(query)}{after}")
    return refused


def shown(query: str) -> str:
    """A query, or its beginning and end."""
    if len(query) <= QUERY_SHOWN_MAX:
        return repr(query)
    half = QUERY_SHOWN_MAX // 2
    return f"{query[:half]!r} ... {query[-half:]!r} ({len(query)} characters)"


def custom_metric_not_found(request: CustomMetricRequest, why: str) -> StatusError:
    """404: no rule serves the metric, or no query can be built for it."""
    return not_found(f"{_custom(request)}: {why}")


def object_metric_not_found(request: CustomMetricRequest, why: str) -> StatusError:
    """404: the metric is served, but this object has no value of it."""
    return not_found(f"{_custom(request)} {request.name}: {why}")


def external_metric_not_found(request: ExternalMetricRequest, why: str) -> StatusError:
    """404: no rule serves the external metric."""
    subject = _EXTERNAL_IN_DEFAULT if request.namespace == "default" else ""
    return not_found(f"the server could not find the metric {request.metric} for {subject}: {why}")


def metrics_not_fetched(cause: str) -> StatusError:
    """500: Prometheus could not be queried, or its response is not usable."""
    return internal_error(f"unable to fetch metrics: {cause}")


def unexpected_result(cause: str) -> StatusError:
    """500: the query of an external metric yields something that is not a metric."""
    return bare_failure(f"encountered an unexpected query result type: {cause}")


def bare_failure(message: str) -> StatusError:
    """500 without a reason: how the API server renders an error that is not a Status."""
    return StatusError(message, code=500, reason="")


def objects_not_listed(resource: GroupResource, cause: str) -> StatusError:
    """500: the objects behind a selector could not be listed."""
    return internal_error(f"unable to list matching resources: {resource}: {cause}")


def _custom(request: CustomMetricRequest) -> str:
    return f"the server could not find the metric {request.metric} for {request.resource}"
