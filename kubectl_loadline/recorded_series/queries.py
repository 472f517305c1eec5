"""Pure: which PromQL has the recorded series of an autoscaler and its target."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kubectl_loadline.backtest.recording import READY_REPLICAS, REPLICAS, columns_of
from scaler.api.autoscaler import Autoscaler, MetricSourceType, MetricSpec, metrics_of
from scaler.api.kinds import WatchedKind
from wire.api.duration import parse_prometheus_duration

# Of kube-state-metrics: by the kind of the target, the label of its name, the requested and the ready replicas.
_STATE_METRICS = {
    "Deployment": (
        "deployment",
        "kube_deployment_spec_replicas",
        "kube_deployment_status_replicas_ready",
    ),
    "StatefulSet": (
        "statefulset",
        "kube_statefulset_replicas",
        "kube_statefulset_status_replicas_ready",
    ),
    "ReplicaSet": (
        "replicaset",
        "kube_replicaset_spec_replicas",
        "kube_replicaset_status_ready_replicas",
    ),
}
_POD_NAMES = {
    "Deployment": "-[a-z0-9]+-[a-z0-9]{5}",
    "StatefulSet": "-[0-9]+",
    "ReplicaSet": "-[a-z0-9]{5}",
}
_SCALER = "loadline_scaler_autoscaler_status_current_replicas"
_MATCHER = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)\s*=~?\s*"((?:\\.|[^"\\])*)"')
_RANGE = re.compile(r"\[\s*([0-9a-z]+)\s*(?::[^\]]*)?\]")
USAGE_WINDOW = "5m"


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """A query, and which series of its result count: `where` has a regular expression for labels. Their sum is the value."""

    promql: str
    where: Mapping[str, str] = {}

    def counts(self, labels: Mapping[str, str]) -> bool:
        """Whether a series of the result counts."""
        return all(re.fullmatch(text, labels.get(name, "")) for name, text in self.where.items())


def replica_queries(autoscaler: Autoscaler, kind: WatchedKind) -> dict[str, tuple[Selected, ...]]:
    """For `replicas` and `ready_replicas`, the queries to try in this order."""
    target, namespace = autoscaler.spec.scale_target_ref, autoscaler.metadata.namespace
    found: dict[str, tuple[Selected, ...]] = {}
    if target.kind in _STATE_METRICS:
        label, requested, ready = _STATE_METRICS[target.kind]
        where = f'{{namespace="{namespace}",{label}="{target.name}"}}'
        found[REPLICAS] = (Selected(promql=f"max({requested}{where})"),)
        found[READY_REPLICAS] = (Selected(promql=f"max({ready}{where})"),)
    name_label = "name" if "name" in kind.metric_labels else "hpa_name"
    of_scaler = f'max({_SCALER}{{exported_namespace="{namespace}",{name_label}="{autoscaler.metadata.name}"}})'
    honored = f'max({_SCALER}{{namespace="{namespace}",{name_label}="{autoscaler.metadata.name}"}})'
    others = (Selected(promql=honored), Selected(promql=of_scaler))
    found[REPLICAS] = (*found.get(REPLICAS, ()), *others)
    return found


def pod_pattern(autoscaler: Autoscaler) -> str:
    """A regular expression for the names of the target's pods, also of those that were deleted since."""
    target = autoscaler.spec.scale_target_ref
    return re.escape(target.name).replace("\\-", "-") + _POD_NAMES.get(target.kind, "-.+")


def usage_query(metric: MetricSpec, autoscaler: Autoscaler) -> Selected | None:
    """The CPU usage of all pods, of a Resource or ContainerResource metric, from cAdvisor's series."""
    resource = metric.resource or metric.container_resource
    if resource is None or resource.name != "cpu":
        return None
    matchers = [
        f'namespace="{autoscaler.metadata.namespace}"',
        f'pod=~"{_in_promql(pod_pattern(autoscaler))}"',
    ]
    if metric.container_resource is not None:
        matchers.append(f'container="{metric.container_resource.container}"')
    else:
        matchers += ['container!=""', 'container!="POD"']
    series = f"container_cpu_usage_seconds_total{{{','.join(matchers)}}}"
    return Selected(promql=f"sum(rate({series}[{USAGE_WINDOW}]))")


def start_up_queries(autoscaler: Autoscaler, seconds: int) -> tuple[str, str]:
    """The median and the 95th percentile of the time from a pod's creation until it was first ready."""
    where = f'{{namespace="{autoscaler.metadata.namespace}",pod=~"{_in_promql(pod_pattern(autoscaler))}"}}'
    ready = (
        f"min by (namespace, pod) (min_over_time(kube_pod_status_ready_time{where}[{seconds}s]))"
    )
    created = f"min by (namespace, pod) (min_over_time(kube_pod_created{where}[{seconds}s]))"
    return f"quantile(0.5, {ready} - {created})", f"quantile(0.95, {ready} - {created})"


def delay_of(promql: str, scrape_seconds: float) -> float:
    """How late the value of a query is: half of its longest range, and a scrape interval."""
    ranges = [parse_prometheus_duration(text) for text in _RANGE.findall(promql)]
    return max(ranges, default=0.0) / 2 + scrape_seconds


def generalized(
    promql: str, rows: Sequence[Mapping[str, str]], names: Sequence[str], autoscaler: Autoscaler
) -> Selected:
    """The adapter's query for the present pods, as one for all pods that the target ever had.

    `rows` are the labels of the rows that counted, `names` those of the present objects. A matcher that lists some of
    them becomes one for the names of the target's pods. Where no matcher does, the rows are selected instead.
    """
    pattern = pod_pattern(autoscaler)
    known = set(names)
    replaced = 0

    def pods(found: re.Match[str]) -> str:
        nonlocal replaced
        if not known & set(found[2].replace("\\\\", "\\").replace("\\", "").split("|")):
            return found[0]
        replaced += 1
        return f'{found[1]}=~"{_in_promql(pattern)}"'

    general = _MATCHER.sub(pods, promql)
    where: dict[str, str] = {}
    namespace = autoscaler.metadata.namespace
    if not replaced and known:
        for labels in rows[:1]:
            where = {name: pattern for name, value in labels.items() if value in known}
    if rows and all(row.get("namespace") == namespace for row in rows):
        where["namespace"] = re.escape(namespace).replace("\\-", "-")
    return Selected(promql=general, where=where)


def described(autoscaler: Autoscaler) -> Iterator[tuple[str, MetricSpec]]:
    """Every metric that is measured, with the name of its series."""
    for metric in metrics_of(autoscaler.spec):
        names = columns_of(metric)
        if metric.type != MetricSourceType.FORMULA and names:
            yield names[0], metric


def _in_promql(pattern: str) -> str:
    """As the text of a string in PromQL."""
    return pattern.replace("\\", "\\\\").replace('"', '\\"')
