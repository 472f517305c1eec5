"""The failures of a metrics question as Kubernetes Statuses: the peer's codes and first sentence, then the cause.

prometheus-adapter keeps causes to its log. Here each message goes on to say what would have to change, since the HPA
copies it into its condition, where its owner reads it.
"""

from adapter.model import CustomMetricRequest, ExternalMetricRequest, GroupResource
from wire.status import StatusError, internal_error, not_found

_EXTERNAL_IN_DEFAULT = (
    "namespaces"  # what the peer says an external metric is for, in the namespace `default` only
)


def custom_metric_not_found(request: CustomMetricRequest, why: str) -> StatusError:
    """404: nobody serves the metric, or no query can be made for it."""
    return not_found(f"{_custom(request)}: {why}")


def object_metric_not_found(request: CustomMetricRequest, why: str) -> StatusError:
    """404: the metric is served, and this one object has no value of it."""
    return not_found(f"{_custom(request)} {request.name}: {why}")


def external_metric_not_found(request: ExternalMetricRequest, why: str) -> StatusError:
    """404: nobody serves the external metric."""
    subject = _EXTERNAL_IN_DEFAULT if request.namespace == "default" else ""
    return not_found(f"the server could not find the metric {request.metric} for {subject}: {why}")


def metrics_not_fetched(cause: str) -> StatusError:
    """500: Prometheus was asked, or could not be, and gave no answer that can be used."""
    return internal_error(f"unable to fetch metrics: {cause}")


def unexpected_result(cause: str) -> StatusError:
    """500: an external metric's query yields what cannot be a metric."""
    return bare_failure(f"encountered an unexpected query result type: {cause}")


def bare_failure(message: str) -> StatusError:
    """500 without a reason, which is how apiserver answers with an error that is no Status of its own."""
    return StatusError(message, code=500, reason="")


def objects_not_listed(resource: GroupResource, cause: str) -> StatusError:
    """500: which objects a selector means could not be found out."""
    return internal_error(f"unable to list matching resources: {resource}: {cause}")


def _custom(request: CustomMetricRequest) -> str:
    return f"the server could not find the metric {request.metric} for {request.resource}"
