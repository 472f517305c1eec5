"""Which Service serves the usage of pods, where this adapter does not: usually metrics-server."""

from collections.abc import Sequence
from typing import Final

import msgspec

from adapter.diagnosis.autoscaler_requests import USAGE
from adapter.diagnosis.explanation import Explanation
from wire.api import kube_json
from wire.api.status import StatusError, Unavailable
from wire.kube.api_services import PATH, APIService
from wire.kube.requests import Reader

API_SERVICE: Final = f"{PATH}/v1beta1.metrics.k8s.io"


async def with_server_of_usage(
    explanations: Sequence[Explanation], cluster: Reader
) -> tuple[Explanation, ...]:
    """The explanations; those of usage for which the adapter has no rules name the Service that serves it."""
    if not any(map(_is_unserved_usage, explanations)):
        return tuple(explanations)
    service = await _service(cluster)
    return tuple(
        msgspec.structs.replace(each, served_by=service) if _is_unserved_usage(each) else each
        for each in explanations
    )


def _is_unserved_usage(explanation: Explanation) -> bool:
    return explanation.path.startswith(f"{USAGE}/") and any(
        each.reason == "GroupNotServed" for each in explanation.findings
    )


async def _service(cluster: Reader) -> str:
    """`namespace/name`; empty if it is not known, or not available, as when it leads to an adapter without these rules."""
    try:
        found = kube_json.decode(await cluster.get(API_SERVICE), APIService)
    except (StatusError, Unavailable):
        return ""
    service = found.spec.service
    return f"{service.namespace}/{service.name}" if service and found.is_available else ""
