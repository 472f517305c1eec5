"""KEDA's trigger `prometheus`: an External metric, and the named metric of the adapter that it reads."""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from kubectl_loadline.migration.conversion import Json, Remarks

# Fields of the trigger that say how to reach Prometheus, which the adapter's flags or `backends` say for all metrics.
_CONNECTION: Final = (
    "authModes", "awsRegion", "cortexOrgID", "customHeaders", "queryParameters", "timeout", "unsafeSsl",
)  # fmt: skip


class PrometheusMetrics:
    """The named metrics and backends that the triggers of one object need."""

    def __init__(self, scaled_object: Mapping[str, Any], remarks: Remarks) -> None:
        metadata = scaled_object.get("metadata") or {}
        self._prefix = f"{metadata.get('namespace', 'default')}_{metadata.get('name', '')}"
        self._remarks = remarks
        self.rules: list[Json] = []
        self.backends: list[Json] = []

    def metric(self, index: int, trigger: Mapping[str, Any]) -> Json:
        """The External metric; its named metric is added to `rules`."""
        where = f"spec.triggers[{index}]"
        metadata = trigger.get("metadata") or {}
        name = re.sub(r"\W", "_", f"{self._prefix}_{trigger.get('name') or index}").lower()
        rule: Json = {"name": name, "query": str(metadata.get("query", ""))}
        if backend := self._backend(str(metadata.get("serverAddress", ""))):
            rule["backend"] = backend
        # KEDA's default: a query without a result is 0.
        if str(metadata.get("ignoreNullValues", "true")).lower() != "false":
            rule["signal"] = {"onEmpty": "zero"}
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
        return self._external(index, name, trigger, metadata)

    def _external(
        self, index: int, name: str, trigger: Mapping[str, Any], metadata: Mapping[str, Any]
    ) -> Json:
        threshold = str(metadata.get("threshold", ""))
        kind = trigger.get("metricType") or "AverageValue"
        target = {"type": kind, "value" if kind == "Value" else "averageValue": threshold}
        label = re.sub(
            r"[^a-z0-9-]", "-", str(trigger.get("name") or f"prometheus-{index}").lower()
        )
        metric: Json = {
            "type": "External",
            "name": label.strip("-")[:63],
            "external": {"metric": {"name": name}, "target": target},
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
