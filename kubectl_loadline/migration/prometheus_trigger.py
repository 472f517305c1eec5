"""KEDA's trigger `prometheus`: an External or Object metric, and the named metric of the adapter that it reads."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from kubectl_loadline.migration.conversion import Json, Remarks, as_boolean

# Fields of the trigger that say how to reach Prometheus, which the adapter's flags or `backends` say for all metrics.
_CONNECTION: Final = (
    "authModes", "awsRegion", "cortexOrgID", "customHeaders", "queryParameters", "timeout", "unsafeSsl",
)  # fmt: skip


class PrometheusMetrics:
    """The named metrics and backends that the triggers of one object need."""

    def __init__(
        self, scaled_object: Mapping[str, Any], remarks: Remarks, *, described: Json | None = None
    ) -> None:
        """`described`: the object that the metrics describe, as in `describedObject`. None: they are external."""
        metadata = scaled_object.get("metadata") or {}
        self._namespace = metadata.get("namespace", "default")
        self._prefix = f"{self._namespace}_{metadata.get('name', '')}"
        self._remarks = remarks
        self._described = described
        self.rules: list[Json] = []
        self.backends: list[Json] = []

    def metric(self, index: int, trigger: Mapping[str, Any]) -> Json:
        """The metric; its named metric is added to `rules`."""
        where = f"spec.triggers[{index}]"
        metadata = trigger.get("metadata") or {}
        name = re.sub(r"\W", "_", f"{self._prefix}_{trigger.get('name') or index}").lower()
        rule = self._rule(name, str(metadata.get("query", "")))
        if backend := self._backend(str(metadata.get("serverAddress", ""))):
            rule["backend"] = backend
        if self._ignores_null_values(where, metadata):
            rule["signal"] = {"onEmpty": "zero", "onNaN": "zero"}
        self.rules.append(rule)
        if trigger.get("authenticationRef"):
            self._remarks.add(
                f"{where}.authenticationRef",
                "the credentials are not converted",
                "Give the adapter credentials with --prometheus-token-file or in its `backends`.",
            )
        for field in _CONNECTION:
            if metadata.get(field):
                self._remarks.add(
                    f"{where}.metadata.{field}",
                    "the connection to Prometheus is a setting of the adapter",
                    "Set it with the --prometheus-* flags or in `backends` of the adapter.",
                )
        return self._metric(index, name, trigger, metadata)

    def _ignores_null_values(self, where: str, metadata: Mapping[str, Any]) -> bool:
        """KEDA's default: without a result, and with a value that is no number, a query is 0 (`ExecutePromQuery`)."""
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
        threshold = str(metadata.get("threshold", ""))
        kind = trigger.get("metricType") or "AverageValue"
        target = {"type": kind, "value" if kind == "Value" else "averageValue": threshold}
        label = re.sub(
            r"[^a-z0-9-]", "-", str(trigger.get("name") or f"prometheus-{index}").lower()
        )
        source: Json = {"metric": {"name": name}, "target": target}
        metric: Json = {"type": "External", "name": label.strip("-")[:63], "external": source}
        if self._described is not None:
            del metric["external"]
            metric |= {
                "type": "Object",
                "object": {"describedObject": {**self._described}, **source},
            }
        if activation := metadata.get("activationThreshold"):
            metric["activationValue"] = str(activation)
        return metric

    def _backend(self, address: str) -> str:
        """The name of the backend for a server address."""
        host = urlsplit(address).hostname or ""
        name = re.sub(r"[^a-z0-9-]", "-", host.split(".svc")[0].lower()).strip("-")
        if name and not any(each["name"] == name for each in self.backends):
            self.backends.append({"name": name, "url": address})
        return name


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


def _labeled(query: str, labels: Mapping[str, str]) -> str:
    """The query with these labels of its result, which says what object it is about."""
    if "#" in query:
        query = f"{query}\n"  # It may end with a comment.
    for label, value in labels.items():
        query = f'label_replace({query}, "{label}", "{value}", "", "")'
    return query
