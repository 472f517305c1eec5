"""The column TARGETS of `kubectl get`, which a custom resource must have in its status.

Upstream: `formatHPAMetrics` (pkg/printers/internalversion/printers.go), its texts and its limit of
two metrics.
"""

from collections.abc import Sequence

from scaler.api.autoscaler import (
    MetricSpec,
    MetricStatus,
    MetricTarget,
    MetricValueStatus,
    QuantityText,
)
from wire.api.quantity import Quantity

UNKNOWN = "<unknown>"
SHOWN_MAX = 2


def printed_targets(specs: Sequence[MetricSpec], statuses: Sequence[MetricStatus]) -> str:
    """`120m/200m (avg), cpu: 40%/80% + 1 more...`; `<unknown>` where there is no value."""
    if not specs:
        return "<none>"
    printed = [
        _metric(spec, statuses[index] if index < len(statuses) else None)
        for index, spec in enumerate(specs)
    ]
    shown = ", ".join(printed[:SHOWN_MAX])
    more = len(printed) - SHOWN_MAX
    return f"{shown} + {more} more..." if more > 0 else shown


def _metric(spec: MetricSpec, status: MetricStatus | None) -> str:
    if spec.of_target is not None:
        source = status.of_target if status else None
        return _amount(spec.of_target.target, source.current if source else None)
    if spec.pods is not None:
        current = status.pods.current if status and status.pods else None
        return f"{_average(current)}/{_quantity(spec.pods.target.average_value)}"
    if spec.resource is not None:
        current = status.resource.current if status and status.resource else None
        return _usage(spec.resource.name, spec.resource.target, current)
    if spec.container_resource is not None:
        found = status.container_resource if status else None
        container = spec.container_resource
        return _usage(container.name, container.target, found.current if found else None)
    return "<unknown type>"


def _amount(target: MetricTarget, current: MetricValueStatus | None) -> str:
    if target.average_value is not None:
        return f"{_average(current)}/{_quantity(target.average_value)} (avg)"
    return f"{_quantity(current.value if current else None)}/{_quantity(target.value)}"


def _usage(resource: str, target: MetricTarget, current: MetricValueStatus | None) -> str:
    if target.average_value is not None:
        return f"{resource}: {_average(current)}/{_quantity(target.average_value)}"
    percent = current.average_utilization if current else None
    measured = UNKNOWN if percent is None else f"{percent}%"
    wanted = "<auto>" if target.average_utilization is None else f"{target.average_utilization}%"
    return f"{resource}: {measured}/{wanted}"


def _average(current: MetricValueStatus | None) -> str:
    return _quantity(current.average_value if current else None)


def _quantity(text: QuantityText | None) -> str:
    """Canonical, as the API server writes it in an HPA."""
    if text is None:
        return UNKNOWN
    try:
        return str(Quantity.parse(str(text)))
    except ValueError:
        return str(text)
