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


def is_configuration(document: object) -> bool:
    """Whether a document is a configuration of prometheus-adapter or of loadline-adapter."""
    return (
        isinstance(document, dict)
        and "kind" not in document
        and bool(document.keys() & _NAMES.keys())
    )
