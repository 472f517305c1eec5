"""The result of converting one object, and what HPAs and ScaledObjects have in common."""

import argparse
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, TypeVar

import msgspec

from wire.api.int64 import parse_int64
from wire.api.loadline import API_VERSION
from wire.api.quantity import Quantity
from wire.process.command_line.parsing import boolean

Json = dict[str, Any]
AnyShape = TypeVar("AnyShape", bound=msgspec.Struct)

INT32_MAX: Final = 2**31 - 1
"""The largest count in an object."""
OF_KEDA: Final = ("autoscaling.keda.sh/", "scaledobject.keda.sh/", "validations.keda.sh/")
"""The prefixes of KEDA's annotations."""
# By these labels and annotations other programs recognize what they have created, and some delete what is not in their repository.
_OF_OTHER_PROGRAMS: Final = (
    *OF_KEDA,
    "addonmanager.kubernetes.io/",
    "app.kubernetes.io/managed-by",
    "applyset.kubernetes.io/",
    "argocd.argoproj.io/hook",
    "argocd.argoproj.io/installation-id",
    "argocd.argoproj.io/instance",
    "argocd.argoproj.io/tracking-id",
    "autoscaling.alpha.kubernetes.io/",
    "config.k8s.io/",
    "configmanagement.gke.io/",
    "configsync.gke.io/",
    "deployment.kubernetes.io/",
    "helm.sh/chart",
    "helm.sh/hook",
    "helm.toolkit.fluxcd.io/",
    "kapp.k14s.io/",
    "kubectl.kubernetes.io/",
    "kustomize.toolkit.fluxcd.io/",
    "meta.helm.sh/",
    "objectset.rio.cattle.io/",
)
# Argo CD before 3.0 recognizes its objects by this label, which is also an ordinary one of charts.
_INSTANCE: Final = "app.kubernetes.io/instance"
_ZERO: Final = Quantity.from_int(0)
_MAPS_OF_TEXTS: Final = ("labels", "annotations", "matchLabels")


class Unconvertible(Exception):
    """No LoadAutoscaler can be made of the object; the message has the reason."""


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """A field without counterpart, or with another meaning: what it is, and what to do."""

    object: str  # Kind namespace/name
    field: str
    message: str
    fix: str | None = None
    is_omission: bool = False  # something that scales the original is missing in the LoadAutoscaler
    is_common: bool = False  # it applies to many objects alike: it is said once for all of them


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """A LoadAutoscaler, the adapter's configuration that its metrics need, and what to know about it."""

    autoscaler: Json
    metrics: tuple[Json, ...] = ()  # entries of `metrics` in the adapter's configuration
    backends: tuple[Json, ...] = ()  # entries of `backends`
    remarks: tuple[Remark, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether everything that scales the original is converted."""
        return not any(each.is_omission for each in self.remarks)


class Remarks:
    """Collects remarks about one object."""

    def __init__(self, original: str) -> None:
        self._original = original
        self.found: list[Remark] = []

    def integer(self, field: str, value: object, *, least: int = 0) -> int:
        """The value of a field of the object, at least `least`. Raises `Unconvertible`."""
        found = parse_int64(str(value))
        if found is None:
            raise self.unconvertible(field, f"{value!r} is not an integer{advice(value)}")
        if not least <= found <= INT32_MAX:
            raise self.unconvertible(field, f"{found} is not from {least} to {INT32_MAX}")
        return found

    def bounds(
        self, spec: Mapping[str, Any], least: str, most: str, *, defaults: tuple[int, int]
    ) -> tuple[int, int]:
        """The values of two fields of the spec, between which the replicas are. Raises `Unconvertible`."""
        given = (spec.get(least, defaults[0]), spec.get(most, defaults[1]))
        low = self.integer(f"spec.{least}", given[0])
        high = self.integer(f"spec.{most}", given[1], least=1)
        if low > high:
            raise self.unconvertible(f"spec.{least}", f"{low} is above {most}, which is {high}")
        return low, high

    def positive_quantity(self, field: str, value: object) -> str:
        """The same of a quantity above zero, as the target of a metric must be. Raises `Unconvertible`."""
        text = str(value)
        found = _quantity(text)
        if found is None or found <= _ZERO:
            raise self.unconvertible(
                field, f"{text!r} is not a quantity above 0, such as 5 or 500m{advice(text)}"
            )
        return text

    def unconvertible(self, field: str, message: str) -> Unconvertible:
        """The exception for a field."""
        return Unconvertible(f"{self._original}: {field}: {message}")

    def add(self, field: str, message: str, fix: str | None = None) -> None:
        """One more remark, about a field of the object."""
        self.found.append(Remark(object=self._original, field=field, message=message, fix=fix))

    def add_common(self, field: str, message: str) -> None:
        """A remark that other objects have as well."""
        self.found.append(
            Remark(object=self._original, field=field, message=message, is_common=True)
        )

    def omit(self, field: str, message: str, fix: str) -> None:
        """A remark about a trigger or formula that is omitted. The LoadAutoscaler then keeps `mode: DryRun`."""
        self.found.append(
            Remark(object=self._original, field=field, message=message, fix=fix, is_omission=True)
        )

    @property
    def has_omission(self) -> bool:
        """Whether there is a remark of `omit`."""
        return any(each.is_omission for each in self.found)


def _quantity(text: str) -> Quantity | None:
    """None for text that is not one, such as Inf."""
    try:
        return Quantity.parse(text)
    except ValueError:
        return None


def read_as(source: Mapping[str, Any], type_: type[AnyShape]) -> AnyShape:
    """The object with the types of its fields. Raises `Unconvertible` for what no API server accepts."""
    try:
        return msgspec.convert(source, type_)
    except msgspec.ValidationError as error:
        problem = str(error).replace("$.", "")
        raise Unconvertible(f"{name_of(source)}: {problem}{advice(source)}") from None


def advice(value: object) -> str:
    """What to do about a value that is not valid, if it has variables of a template; it begins with a full stop."""
    text = str(value)
    has_variables = "{{" in text or "${" in text
    return ". Replace variables of templates first" if has_variables else ""


def without_nulls(source: Mapping[str, Any]) -> Json:
    """The object as kube-apiserver decodes it: a field that is null is missing, and a label that is null is an empty text."""
    return {
        name: _without_nulls(value, is_texts=name in _MAPS_OF_TEXTS)
        for name, value in source.items()
        if value is not None
    }


def _without_nulls(value: Any, *, is_texts: bool = False) -> Any:
    match value:
        case dict() if is_texts:
            return {name: "" if each is None else each for name, each in value.items()}
        case dict():
            return without_nulls(value)
        case list():
            return [_without_nulls(each) for each in value]
    return value


def name_of(source: Mapping[str, Any]) -> str:
    """`Kind namespace/name`, for messages."""
    metadata = source.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    namespace = metadata.get("namespace")
    name = metadata.get("name") or ""
    return f"{source.get('kind', 'object')} {f'{namespace}/' if namespace else ''}{name}"


def load_autoscaler(source: Mapping[str, Any], spec: Json, remarks: Remarks) -> Json:
    """A LoadAutoscaler with the name, labels and annotations of the original object."""
    original = source.get("metadata") or {}
    metadata: Json = {"name": original.get("name", "")}
    if namespace := original.get("namespace"):
        metadata["namespace"] = namespace
    for field in ("labels", "annotations"):
        texts = original.get(field) or {}
        own = {
            name: text for name, text in texts.items() if not name.startswith(_OF_OTHER_PROGRAMS)
        }
        if own:
            metadata[field] = own
    # Only what was read from a cluster has a uid; a manifest is part of the repository that the tool reads.
    if original.get("uid") and metadata.get("labels", {}).pop(_INSTANCE, None):
        remarks.add(
            f"metadata.labels[{_INSTANCE}]",
            "it is omitted, because Argo CD before 3.0 deletes an object that has it and is not in its repository",
            "Add it again if you need it, and no Argo CD finds its objects by it.",
        )
    return {
        "apiVersion": API_VERSION,
        "kind": "LoadAutoscaler",
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": _without_fractions(spec),
    }


def _without_fractions(value: Any) -> Any:
    """Quantities such as 0.5 as text, which the API server of an HPA makes of them, too: the CRD accepts integers and text."""
    match value:
        case dict():
            return {name: _without_fractions(each) for name, each in value.items()}
        case list():
            return [_without_fractions(each) for each in value]
        case float():
            return f"{Decimal(repr(value)):f}"
    return value


def as_boolean(value: object) -> bool | None:
    """What Go's strconv.ParseBool makes of the text, or YAML of the word; None for what is neither true nor false."""
    try:
        return value if isinstance(value, bool) else boolean(str(value))
    except argparse.ArgumentTypeError:
        return None
