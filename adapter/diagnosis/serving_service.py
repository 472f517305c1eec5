"""Which Service serves a metrics API for which this adapter has no rules: metrics-server, or KEDA."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from adapter.diagnosis.autoscaler_requests import USAGE
from adapter.diagnosis.explanation import Explanation, Finding
from wire.api import kube_json
from wire.api.status import StatusError, Unavailable
from wire.kube.api_services import PATH, APIService
from wire.kube.requests import Reader

REASON: Final = "GroupNotServed"


def unserved(explanations: Iterable[Explanation]) -> tuple[str, ...]:
    """The names of the APIServices that are requested, and for which the adapter has no rules; each once."""
    return tuple(dict.fromkeys(filter(None, map(_unserved_api_service, explanations))))


async def with_serving_service(
    explanations: Sequence[Explanation], cluster: Reader, *, is_new_configuration: bool
) -> tuple[Explanation, ...]:
    """The explanations; those of an API for which the adapter has no rules name the Service that serves it.

    An explanation remains a failure if that Service is not available, or if it may be an adapter with the present
    configuration, and another one is explained (`is_new_configuration`). Its finding then names the Service.
    """
    found = {name: await _read(name, cluster) for name in unserved(explanations)}
    return tuple(
        _of(each, found.get(_unserved_api_service(each)), is_new_configuration)
        for each in explanations
    )


def _unserved_api_service(explanation: Explanation) -> str:
    """`VERSION.GROUP` of a path of an API without rules; else empty."""
    if not any(each.reason == REASON for each in explanation.findings):
        return ""
    match explanation.path.partition("?")[0].split("/"):
        case ["", "apis", group, version, *_] if version:
            return f"{version}.{group}"
    return ""


async def _read(name: str, cluster: Reader) -> APIService | None:
    """None: it does not exist, or cannot be read."""
    try:
        return kube_json.decode(await cluster.get(f"{PATH}/{name}"), APIService)
    except (StatusError, Unavailable):
        return None


def _of(
    explanation: Explanation, found: APIService | None, is_new_configuration: bool
) -> Explanation:
    service = found.spec.service if found is not None else None
    if found is None or service is None:
        return explanation
    name = f"{service.namespace}/{service.name}"
    if found.is_available and not (is_new_configuration and not _is_usage(explanation)):
        return msgspec.structs.replace(explanation, served_by=name)
    finding = _served if found.is_available else _not_available
    findings = tuple(
        finding(each, name, found.metadata.name) if each.reason == REASON else each
        for each in explanation.findings
    )
    return msgspec.structs.replace(explanation, findings=findings)


def _is_usage(explanation: Explanation) -> bool:
    """Usage usually comes from metrics-server, whatever the configuration is."""
    return explanation.path.startswith(f"{USAGE}/")


def _served(finding: Finding, service: str, _: str) -> Finding:
    return msgspec.structs.replace(
        finding, message=f"{finding.message}. At present it is served by the Service {service}"
    )


def _not_available(finding: Finding, service: str, api_service: str) -> Finding:
    return msgspec.structs.replace(
        finding,
        message=f"{finding.message}. It is served by the Service {service}, which is not available",
        fix=f"See why: kubectl describe apiservice {api_service}. "
        f"If {service} is this adapter's Service: {finding.fix}",
    )
