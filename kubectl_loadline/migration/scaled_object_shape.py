"""The mappings, lists and texts of a ScaledObject, as KEDA's CRD has them."""

from typing import Any

import msgspec

from scaler.api.autoscaler import Behavior

Json = dict[str, Any]


class _Metadata(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _ScaleTargetRef(msgspec.Struct, rename="camel"):
    name: str | None = None
    kind: str | None = None
    api_version: str | None = None


class _AuthenticationRef(msgspec.Struct):
    name: str | None = None
    kind: str | None = None


class _Trigger(msgspec.Struct, rename="camel"):
    type: str | None = None
    name: str | None = None
    metric_type: str | None = None
    metadata: Json | None = None
    authentication_ref: _AuthenticationRef | None = None


class _Fallback(msgspec.Struct):
    behavior: str | None = None


class _HpaConfig(msgspec.Struct):
    behavior: Behavior | None = None


class _Advanced(msgspec.Struct, rename="camel"):
    horizontal_pod_autoscaler_config: _HpaConfig | None = None
    scaling_modifiers: Json | None = None


class _Spec(msgspec.Struct, rename="camel"):
    scale_target_ref: _ScaleTargetRef | None = None
    triggers: list[_Trigger] | None = None
    advanced: _Advanced | None = None
    fallback: _Fallback | None = None


class ScaledObjectShape(msgspec.Struct):
    """What is in the `metadata` of triggers, and numbers, are checked where they are read."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None
