"""The schemas of the CustomResourceDefinitions: kube-apiserver drops fields that a schema does not have."""

from pathlib import Path
from typing import Any

import yaml

Schema = dict[str, Any]


def schema_in(crd: Path) -> Schema:
    """Of the first version."""
    # The C loader is several times as fast, where libyaml is installed.
    found = yaml.load(crd.read_text(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    schema: Schema = found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def unknown_fields(value: object, schema: Schema, path: str = "") -> list[str]:
    """The paths of the fields that the schema does not have."""
    if isinstance(value, list):
        items = schema.get("items", {})
        return [each for inner in value for each in unknown_fields(inner, items, path)]
    if not isinstance(value, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return []
    found = []
    for name, inner in value.items():
        known = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        if known is None:
            found.append(f"{path}.{name}")
        else:
            found += unknown_fields(inner, known, f"{path}.{name}")
    return found
