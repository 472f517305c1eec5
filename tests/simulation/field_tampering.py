"""Planted faults of additional fields: a scaler that does not know one, or that understands it in another way."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tests.simulation.decision_tampering import ChangesCounts
from tests.simulation.network import Request
from tests.simulation.tampering import Tamper, without_field, writes_scale


class _IgnoresField(Tamper):
    """The scaler does not know a field of the spec."""

    ignored = ""

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        return without_field(spec, self.ignored)


class IgnoresDryRun(_IgnoresField):
    """The scaler does not know `mode`."""

    invariant = "dry run"
    field = "dry run"
    ignored = "mode"


class IgnoresSuspension(_IgnoresField):
    """The scaler does not know `suspend`."""

    invariant = "suspended"
    field = "suspension"
    ignored = "suspend"


class IgnoresCooldown(_IgnoresField):
    """The scaler does not know `scaleToZero`."""

    invariant = "zero after cooldown"
    field = "zero"
    ignored = "scaleToZero"


class IgnoresActivation(Tamper):
    """The scaler does not know `activationValue`."""

    invariant = "zero left for load"
    field = "zero"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        metrics = [without_field(each, "activationValue") for each in spec["metrics"]]
        return {**without_field(spec, "scaleToZero"), "metrics": metrics}


class ActivatesForAnyLoad(Tamper):
    """The scaler takes each activation value for zero."""

    invariant = "zero without load"
    field = "zero"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        metrics = [
            {**each, "activationValue": "0"} if "activationValue" in each else each
            for each in spec["metrics"]
        ]
        return {**spec, "metrics": metrics}


class NeverCoolsDown(Tamper):
    """The cooldown is longer than the simulation."""

    invariant = "zero reached"
    field = "zero"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        if "scaleToZero" not in spec:
            return spec
        return {**spec, "scaleToZero": {**spec["scaleToZero"], "cooldownSeconds": 3600}}


class IgnoresRollouts(_IgnoresField):
    """The scaler does not know `podReadiness`."""

    invariant = "held in rollout"
    field = "rollout"
    ignored = "podReadiness"


class RemovesReplicas(Tamper):
    """A bug has a forecast remove: every write of a scale has one less."""

    invariant = "forecast only adds"
    field = "forecast"

    def request(self, request: Request) -> Sequence[Request]:
        if not writes_scale(request):
            return [request]
        body = msgspec.json.decode(request.body)
        body["spec"]["replicas"] = max(1, body["spec"].get("replicas", 0) - 1)
        return [msgspec.structs.replace(request, body=msgspec.json.encode(body))]


class ActsInDryRun(Tamper):
    """The scaler does not know the mode of a forecast."""

    invariant = "explained"
    field = "forecast"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        if "forecast" not in spec:
            return spec
        return {**spec, "forecast": {**spec["forecast"], "mode": "Add"}}


class AddsInDryRun(ChangesCounts):
    """A forecast in a dry run, or suspended, adds replicas to each scale-up, within the bounds."""

    invariant = "forecast acts only with mode and trust"
    field = "forecast"

    def changed(self, target: str, before: int, after: int) -> int:
        plan = self.plans[target]
        adds = after > before and plan.fields.forecast in ("DryRun", "Suspended")
        return min(after + 5, plan.max_replicas) if adds else after


class IgnoresAbort(Tamper):
    """The scaler does not know `abortWhen`."""

    invariant = "candidate stays aborted"
    field = "candidate"

    def spec(self, spec: dict[str, Any]) -> dict[str, Any]:
        if "candidate" not in spec:
            return spec
        return {**spec, "candidate": without_field(spec["candidate"], "abortWhen")}


PLANTED_IN_FIELDS: tuple[Callable[[], Tamper], ...] = (
    IgnoresDryRun, IgnoresSuspension, IgnoresCooldown, IgnoresActivation, ActivatesForAnyLoad, NeverCoolsDown,
    IgnoresRollouts, RemovesReplicas, ActsInDryRun, AddsInDryRun, IgnoresAbort,
)  # fmt: skip
