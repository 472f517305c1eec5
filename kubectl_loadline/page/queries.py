"""Pure: the PromQL of the page, and which row each series of a result belongs to."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kubectl_loadline.cluster.autoscaler_name import KINDS, short_name
from kubectl_loadline.status.row import Row
from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from wire.api.quoting import go_quote
from wire.prometheus.query_api import RangeSeries

OF_SCALER: Final = "loadline_scaler_autoscaler_"
CURVES: Final[Mapping[str, tuple[str, ...]]] = {
    "current": ("status_current_replicas",),
    "desired": ("status_desired_replicas",),
    "demand": ("proposed_replicas",),
    "min": ("effective_min_replicas", "spec_min_replicas"),
    "max": ("effective_max_replicas", "spec_max_replicas"),
}
"""The metrics of each curve, by the end of their names. The first one that was recorded counts."""
LOAD: Final = "metric_value"


def history_query(kind: WatchedKind, namespace: str, name: str) -> str:
    """Everything that is drawn of one autoscaler: from the scaler's metrics, and from those of kube-state-metrics."""
    ends = "|".join([*(end for ends in CURVES.values() for end in ends), LOAD])
    selectors = [
        (f"{prefix}({ends})", f"{label}={go_quote(name)}{more}")
        for prefix, label, more in _sources(kind)
    ]
    return _highest("__name__, metric", f"={go_quote(namespace)}", selectors)


def current_query(rows: Iterable[Row]) -> str:
    """The current replicas of these autoscalers, in one query."""
    by_kind: dict[str, list[Row]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row)
    selectors = [
        (f"{prefix}status_current_replicas", f"{label}=~{_any(row.name for row in found)}{more}")
        for kind in KINDS
        if (found := by_kind.get(short_name(kind)))
        for prefix, label, more in _sources(kind)
    ]
    namespaces = _any(row.namespace for found in by_kind.values() for row in found)
    grouping = f"__name__, kind, namespace, exported_namespace, {', '.join(_LABELS)}"
    return _highest(grouping, f"=~{namespaces}", selectors)


def counts_by_row(found: Iterable[RangeSeries]) -> dict[str, dict[float, float]]:
    """The samples of `current_query` by `la/namespace/name`; those of the scaler itself if there are both."""
    counts: dict[str, dict[float, float]] = {}
    # The scaler's names come later in the alphabet, so they replace the others.
    for each in sorted(found, key=lambda series: series.metric.get("__name__", "")):
        labels = each.metric
        namespace = labels.get("exported_namespace") or labels.get("namespace", "")
        for label, kind in _LABELS.items():
            if name := labels.get(label):
                counts[f"{kind}/{namespace}/{name}"] = each.samples
                break
    return counts


_LABELS: Final[Mapping[str, str]] = {
    "hpa_name": "hpa",
    "horizontalpodautoscaler": "hpa",
    "loadautoscaler": "la",
    "name": "la",
}
"""The label that has the name of an autoscaler, and the kind that it means."""


def _sources(kind: WatchedKind) -> Iterator[tuple[str, str, str]]:
    """The beginning of the name of a metric, the label of the autoscaler's name, and further matchers."""
    if kind is LOAD_AUTOSCALERS:
        yield OF_SCALER, "name", f",kind={go_quote(kind.kind)}"
        yield "kube_loadautoscaler_", "loadautoscaler", ""
    else:
        yield OF_SCALER, "hpa_name", ""
        yield "kube_horizontalpodautoscaler_", "horizontalpodautoscaler", ""


def _highest(grouping: str, in_namespace: str, selectors: Iterable[tuple[str, str]]) -> str:
    """Of several replicas of the scaler. Where a scrape has a namespace of its own, that of the metric is renamed."""
    alternatives = [
        f"{{__name__=~{go_quote(names)},{namespace},{matchers}}}"
        for names, matchers in selectors
        for namespace in (
            f"exported_namespace{in_namespace}",
            f'namespace{in_namespace},exported_namespace=""',
        )
    ]
    return f"max by ({grouping}) ({' or '.join(alternatives)})"


def _any(names: Iterable[str]) -> str:
    return go_quote("|".join(re.escape(each) for each in sorted(set(names))))
