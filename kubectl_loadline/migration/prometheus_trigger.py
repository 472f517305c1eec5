"""KEDA's trigger `prometheus`: an External or Object metric, and the named metric of the adapter that it reads."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import promql_parser

from adapter.config import ConfigError, parse
from kubectl_loadline.migration.adapter_names import AdapterNames, dns_label, unique
from kubectl_loadline.migration.conversion import Json, Remarks, as_boolean
from kubectl_loadline.migration.keda_numbers import JSON_NUMBER, activation, target
from kubectl_loadline.migration.negative_results import may_be_negative

# Fields of the trigger that say how to reach Prometheus, which the adapter's flags or `backends` say for all metrics.
_CONNECTION: Final = (
    "authMode", "authModes", "awsRegion", "cortexOrgID", "credentialsFromEnv", "credentialsFromEnvFile", "customHeaders", "identityOwner",
    "namespace", "queryParameters", "timeout", "unsafeSsl",
)  # fmt: skip
# Those that may select a tenant: with others, the same server has other values.
_TENANT: Final = ("cortexOrgID", "customHeaders", "namespace", "queryParameters")


class PrometheusMetrics:
    """The named metrics and backends that the triggers of one object need."""

    def __init__(
        self,
        scaled_object: Mapping[str, Any],
        remarks: Remarks,
        names: AdapterNames,
        *,
        described: Json | None = None,
        beside_formula: bool = False,
    ) -> None:
        """`described`: the object that the metrics describe, as in `describedObject`. None: they are external.

        `beside_formula`: their targets are not used.
        """
        metadata = scaled_object.get("metadata") or {}
        self._namespace = metadata.get("namespace", "default")
        # The names of objects have no underscores: two objects have different prefixes, even if they are converted separately.
        self._prefix = f"{self._namespace}_{metadata.get('name', '')}"
        self._remarks = remarks
        self._names = names
        self._labels: set[str] = set()
        self.labels: dict[str, str] = {}
        """The names of the metrics by those of their triggers, for triggers that have one."""
        self._described = described
        self._beside_formula = beside_formula
        self.rules: list[Json] = []
        self.backends: list[Json] = []

    def metric(self, index: int, trigger: Mapping[str, Any]) -> Json:
        """The metric; its named metric is added to `rules`."""
        where = f"spec.triggers[{index}]"
        metadata = trigger.get("metadata") or {}
        name = self._names.metric(f"{self._prefix}_{trigger.get('name') or index}")
        rule = self._rule(name, self._query(f"{where}.metadata.query", metadata))
        backend = self._backend(where, trigger, metadata)
        if backend is not None:
            rule["backend"] = backend["name"]
        if self._ignores_null_values(where, metadata):
            rule["signal"] = {"onEmpty": "zero", "onNaN": "zero"}
        if problem := _problem(rule, backend):
            raise self._remarks.unconvertible(
                f"{where}.metadata.query",
                f"the adapter would refuse its whole configuration, because of this query ({problem}). Write it in PromQL, "
                "or leave this object to KEDA",
            )
        self.rules.append(rule)
        if trigger.get("authenticationRef"):
            self._remarks.add(
                f"{where}.authenticationRef",
                "the credentials are not converted",
                "Give the adapter credentials with --prometheus-token-file or in its `backends`.",
            )
        for field in _CONNECTION:
            if metadata.get(field):
                its = "" if backend is None else f" {backend['name']}"
                self._remarks.add(
                    f"{where}.metadata.{field}",
                    "the connection to Prometheus is a setting of the adapter",
                    f"Set it with the --prometheus-* flags, or for its backend{its} in `backends` of the adapter.",
                )
        return self._metric(index, name, trigger, metadata)

    def new_label(self, wanted: str) -> str:
        """The name of a metric, with a number if it is taken."""
        label = unique(wanted, self._labels, separator="-")
        self._labels.add(label)
        return label

    def _ignores_null_values(self, where: str, metadata: Mapping[str, Any]) -> bool:
        """KEDA's default: without a result, and with NaN, a query is 0 (`ExecutePromQuery`)."""
        given = metadata.get("ignoreNullValues")
        if given is None or not str(given).strip():
            return True
        found = as_boolean(given.strip() if isinstance(given, str) else given)
        if found is None:
            self._remarks.add(
                f"{where}.metadata.ignoreNullValues",
                f"{given!r} is neither true nor false, which KEDA refuses; the default, true, is used",
            )
        return found is not False

    def _query(self, field: str, metadata: Mapping[str, Any]) -> str:
        query = str(metadata.get("query") or "")
        if not query.strip():
            raise self._remarks.unconvertible(field, "it is missing")
        if _is_text(query):
            raise self._remarks.unconvertible(field, f"the result of {query} is text, not a number")
        return _not_negative(query)

    def _rule(self, name: str, query: str) -> Json:
        if self._described is None:
            return {"name": name, "query": query}
        kind = self._described["kind"].lower()
        labeled = _labeled(query, {"namespace": self._namespace, kind: self._described["name"]})
        return {
            "name": name,
            "describes": _resource(self._described),
            "query": labeled,
            # The adapter derives the label of an object from the plural, which may be irregular.
            "labels": {"object": kind, "namespace": "namespace"},
        }

    def _metric(
        self, index: int, name: str, trigger: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> Json:
        where = f"spec.triggers[{index}].metadata"
        threshold = target(
            f"{where}.threshold",
            metadata.get("threshold", ""),
            f"spec.triggers[{index}].metricType",
            trigger.get("metricType"),
            syntax=JSON_NUMBER,
            remarks=self._remarks,
            is_unused=self._beside_formula,
        )
        given = str(trigger.get("name") or "")
        shown = self.new_label(dns_label(given) or f"prometheus-{index}")
        if given:
            self.labels[given] = shown
        source: Json = {"metric": {"name": name}, "target": threshold}
        metric: Json = {"type": "External", "name": shown, "external": source}
        if self._described is not None:
            del metric["external"]
            metric |= {
                "type": "Object",
                "object": {"describedObject": {**self._described}, **source},
            }
        return metric | activation(
            f"{where}.activationThreshold",
            metadata.get("activationThreshold"),
            syntax=JSON_NUMBER,
            remarks=self._remarks,
        )

    def _credentials(self, reference: Mapping[str, Any]) -> dict[str, str]:
        """What distinguishes the credentials from others. A TriggerAuthentication is one of the namespace of the object."""
        if not reference:
            return {}
        kind = reference.get("kind") or "TriggerAuthentication"
        found = {"kind": str(kind), "name": str(reference.get("name", ""))}
        if kind != "ClusterTriggerAuthentication":
            found["namespace"] = self._namespace
        return {f"authenticationRef.{name}": value for name, value in found.items()}

    def _backend(
        self, where: str, trigger: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> Json | None:
        """The backend of the trigger, which is added to `backends`."""
        tenant = {name: str(metadata[name]) for name in _TENANT if metadata.get(name)}
        tenant |= self._credentials(trigger.get("authenticationRef") or {})
        address = str(metadata.get("serverAddress", ""))
        found = self._names.backend(address, tenant)
        if found is None:
            self._remarks.add(
                f"{where}.metadata.serverAddress",
                f"{address!r} is not a URL; the metric is read from the Prometheus of the adapter",
            )
        elif found not in self.backends:
            self.backends.append(found)
        return found


def _resource(described: Json) -> str:
    """`deployments.apps` for a Deployment, by client-go's `meta.UnsafeGuessKindToResource`, because the files may be converted without a cluster."""
    group, _, version = described["apiVersion"].rpartition("/")
    kind = described["kind"].lower()
    if kind.endswith("s"):
        plural = f"{kind}es"
    elif kind.endswith("y"):
        plural = f"{kind.removesuffix('y')}ies"
    else:
        plural = f"{kind}s"
    return f"{plural}.{group}" if group and version else plural


def _not_negative(query: str) -> str:
    """The query, if its result cannot be below zero; else with 0 instead, as in KEDA from 2.20.2 on (`GenerateMetricInMili`).

    An HPA takes a negative sum for an overflow.
    """
    if not may_be_negative(query):
        return query
    return f"clamp_min({_ended(query)}, 0)"


def _problem(rule: Json, backend: Json | None) -> str | None:
    """Why the adapter refuses a metric, such as one with a query in MetricsQL, by its own reader of a configuration."""
    backends = [] if backend is None else [backend]
    try:
        parse(msgspec.json.encode({"backends": backends, "metrics": [rule]}).decode())
    except ConfigError as error:
        return error.problems[0].problem
    return None


def _is_text(query: str) -> bool:
    try:
        node = promql_parser.parse(query)
    except ValueError:
        return False
    while isinstance(node, promql_parser.ParenExpr):
        node = node.expr
    return isinstance(node, promql_parser.StringLiteral)


def _ended(query: str) -> str:
    """The query as an argument: it may end with a comment."""
    return f"{query}\n" if "#" in query else query


def _labeled(query: str, labels: Mapping[str, str]) -> str:
    """The query with these labels of its result, which says what object it is about."""
    query = _ended(query)
    for label, value in labels.items():
        query = f'label_replace({query}, "{label}", "{value}", "", "")'
    return query
