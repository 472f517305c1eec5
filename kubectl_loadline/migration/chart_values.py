"""A configuration of the adapter as values of its chart."""

from collections.abc import Mapping
from typing import Any, Final

Json = dict[str, Any]

_NAMES: Final = {
    "rules": "custom",
    "externalRules": "external",
    "resourceRules": "resource",
    "metrics": "metrics",
}

_FIELDS: Final = {*_NAMES, "backends"}
_RULE_FIELDS: Final = {"seriesQuery", "metricsQuery", "query"}
_RESOURCE_FIELDS: Final = {"cpu", "memory", "window"}


def chart_values(configuration: Mapping[str, Any], *, is_complete: bool) -> Json:
    """Its values. `is_complete`: it is the whole configuration, so the chart must not add its default rules.

    Raises ValueError for a field that the chart has no value for.
    """
    unknown = sorted(configuration.keys() - _NAMES.keys())
    if unknown:
        raise ValueError(
            f"the chart has no value for {', '.join(unknown)}: put the configuration into a ConfigMap of your own, and name it in "
            "rules.existing"
        )
    rules = {name: configuration[key] for key, name in _NAMES.items() if key in configuration}
    return {"rules": {"default": False, **rules} if is_complete else rules}


def keys_of_values(*, is_complete: bool) -> tuple[str, ...]:
    """Every key that `chart_values` may have; if the configuration is to be added to another one, it has metrics only."""
    names = ("default", *_NAMES.values()) if is_complete else ("metrics",)
    return tuple(f"rules.{name}" for name in names)


def is_configuration(document: object) -> bool:
    """Whether a document is a configuration of prometheus-adapter or of loadline-adapter.

    Those of other programs may have fields with the same names, with other values.
    """
    if not isinstance(document, dict) or "kind" in document:
        return False
    found = {name: document[name] for name in _NAMES if document.get(name) is not None}
    if not found or not all(_is_part(name, value) for name, value in found.items()):
        return False
    return any(found.values()) or not document.keys() - _FIELDS


def _is_part(name: str, value: object) -> bool:
    if name == "resourceRules":
        return isinstance(value, dict) and bool(value.keys() & _RESOURCE_FIELDS)
    return isinstance(value, list) and all(
        isinstance(each, dict) and bool(each.keys() & _RULE_FIELDS) for each in value
    )
