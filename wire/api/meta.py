"""What every Kubernetes object carries: metadata, references and label selectors.

Field names, order and omission follow the JSON tags of `k8s.io/apimachinery/pkg/apis/meta/v1` v0.36.3,
reduced to what the two programs read or write; msgspec skips what is not named here.
"""

from datetime import UTC, datetime
from typing import TypeVar

import msgspec

T = TypeVar("T")


def always(value: T) -> T:
    """A default that is encoded in spite of `omit_defaults`, as Go encodes a field without `omitempty`."""
    # msgspec omits a field whose value is its default, but not when a function made the default.
    default: T = msgspec.field(default_factory=lambda: value)
    return default


class OwnerReference(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """The object that owns this one; `controller` marks the one that manages it."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """The metadata of an object. Times are aware datetimes; Kubernetes keeps whole seconds."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[OwnerReference] = []
    finalizers: list[str] = []


class NameAndVersion(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Which object it is, and which version of it: all that a copy needs of its metadata."""

    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class ListMeta(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The metadata of a list: where a watch or the next page continues."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class LabelSelectorRequirement(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """One expression of a label selector: `operator` is In, NotIn, Exists or DoesNotExist.

    A custom resource may lack both, which Go reads as empty texts. Then the selector is invalid, but not the whole object.
    """

    key: str = always("")
    operator: str = always("")
    values: list[str] = []


class LabelSelector(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False
):
    """A label query: all of `match_labels` and all of `match_expressions` must hold. Empty matches everything."""

    match_labels: dict[str, str] = {}
    match_expressions: list[LabelSelectorRequirement] = []


def go_string(selector: LabelSelector | None) -> str:
    """The API object as Go prints the struct, which is how the HPA names a metric's selector in its messages."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted(selector.match_labels.items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{each.key},Operator:{each.operator},"
        f"Values:[{' '.join(each.values)}],}},"
        for each in selector.match_expressions
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


class ObjectReference(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True
):
    """A pointer to another object (`v1.ObjectReference`)."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""
    field_path: str = ""


def time_from_unix(seconds: float) -> datetime:
    """Unix seconds as Kubernetes writes a time: UTC, the fraction of a second cut off."""
    return datetime.fromtimestamp(seconds // 1, UTC)
