"""The mappings and lists of a ScaledObject, as KEDA's CRD has them."""

from typing import Any

import msgspec

from scaler.api.autoscaler import Behavior

Json = dict[str, Any]


class _Metadata(msgspec.Struct):
    labels: Json | None = None
    annotations: Json | None = None


class _Trigger(msgspec.Struct, rename="camel"):
    metadata: Json | None = None
    authentication_ref: Json | None = None


class _HpaConfig(msgspec.Struct):
    behavior: Behavior | None = None


class _Advanced(msgspec.Struct, rename="camel"):
    horizontal_pod_autoscaler_config: _HpaConfig | None = None
    scaling_modifiers: Json | None = None


class _Spec(msgspec.Struct, rename="camel"):
    scale_target_ref: Json | None = None
    triggers: list[_Trigger] | None = None
    advanced: _Advanced | None = None
    fallback: Json | None = None


class ScaledObjectShape(msgspec.Struct):
    """Scalars are checked where they are read."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None
