"""Pure: which autoscaler a command is about, written as for kubectl."""

from collections.abc import Mapping
from typing import Final

import msgspec

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS, WatchedKind

KINDS: Final[tuple[WatchedKind, ...]] = (LOAD_AUTOSCALERS, HORIZONTAL_POD_AUTOSCALERS)
SHORT_NAMES: Final[Mapping[str, str]] = {
    LOAD_AUTOSCALERS.plural: "la",
    HORIZONTAL_POD_AUTOSCALERS.plural: "hpa",
}
_WORKLOADS: Final = (
    "deployment", "deployments", "deploy", "statefulset", "statefulsets", "sts", "replicaset", "replicasets", "rs",
    "pod", "pods", "po",
)  # fmt: skip
FORMS: Final = "NAME, la/NAME or hpa/NAME"


class AutoscalerName(msgspec.Struct, frozen=True, kw_only=True):
    """An autoscaler; of the `kinds`, the first that exists is meant. `namespace` is empty where none is given."""

    name: str
    namespace: str = ""
    kinds: tuple[WatchedKind, ...] = KINDS


def autoscaler_name(text: str, *, namespace: str = "") -> AutoscalerName:
    """`web`, `la/web`, `hpa/web`, or with a namespace `shop/web`, `la/shop/web`. Raises ValueError with the fix.

    `namespace` is that of `-n`, empty if it is not given.
    """
    *before, name = text.split("/")
    kinds, inside = KINDS, ""
    if "" in (*before, name):
        before, name = [], ""
    if before and (kind := _kind(before[0])) is not None:
        kinds, before = (kind,), before[1:]
    elif before and before[0].lower().partition(".")[0] in _WORKLOADS:
        raise ValueError(
            f"{text!r} is a workload: write the name of its autoscaler, and the namespace with -n"
        )
    if before:
        inside, before = before[0], before[1:]
    if before or not name:
        raise ValueError(f"{text!r} is not an autoscaler: write {FORMS}, and the namespace with -n")
    if inside and namespace not in ("", inside):
        raise ValueError(
            f"{text!r} names the namespace {inside}, but -n names {namespace}: remove one of them"
        )
    return AutoscalerName(name=name, namespace=inside or namespace, kinds=kinds)


def short_name(kind: WatchedKind) -> str:
    """`la` or `hpa`."""
    return SHORT_NAMES[kind.plural]


def _kind(text: str) -> WatchedKind | None:
    """By any name that kubectl accepts."""
    resource, _, group = text.lower().partition(".")
    for kind in KINDS:
        names = (SHORT_NAMES[kind.plural], kind.plural, kind.kind.lower())
        if resource in names and group in ("", kind.group, f"{kind.version}.{kind.group}"):
            return kind
    return None
