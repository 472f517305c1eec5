"""The schemas of the CustomResourceDefinitions: kube-apiserver drops fields that a schema does not have."""

import re
from pathlib import Path
from typing import Any

from wire.process import go_yaml

Schema = dict[str, Any]


def schema_in(crd: Path) -> Schema:
    """Of the first version of the first kind."""
    found = next(go_yaml.load_all(crd.read_text()))
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


def violations(value: object, schema: Schema, path: str = "") -> list[str]:
    """What kube-apiserver would refuse in the value, with its path. Formats other than of integers are not checked."""
    found = [f"{path}: {each}" for each in _own_violations(value, schema)]
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += violations(each, schema.get("items", {}), f"{path}[{index}]")
    if isinstance(value, dict):
        found += [
            f"{path}.{name}: missing" for name in schema.get("required", ()) if name not in value
        ]
        for name, inner in value.items():
            known = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if isinstance(known, dict):
                found += violations(inner, known, f"{path}.{name}")
    return found


_TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
_BITS = {"int32": 31, "int64": 63}


def _own_violations(value: object, schema: Schema) -> list[str]:
    """Without those of what is inside."""
    if value is None:
        return [] if schema.get("nullable") else ["null"]
    types = [each["type"] for each in schema.get("anyOf", ())] or [schema.get("type", "object")]
    if not any(isinstance(value, _TYPES[each]) for each in types):
        return [f"{value!r} is not of type {' or '.join(types)}"]
    found = []
    if isinstance(value, str):
        pattern = schema.get("pattern")
        if len(value) > schema.get("maxLength", len(value)):
            found.append("too long")
        if pattern is not None and re.search(pattern.replace("$", r"\Z"), value) is None:
            found.append(f"{value!r} does not match {pattern}")
    if isinstance(value, int) and "anyOf" not in schema and schema["type"] == "integer":
        bits = _BITS.get(schema.get("format", ""), 63)
        low, high = schema.get("minimum", -(2**bits)), schema.get("maximum", 2**bits - 1)
        if not low <= value <= high:
            found.append(f"{value} is not from {low} to {high}")
    if isinstance(value, list) and len(value) > schema.get("maxItems", len(value)):
        found.append(f"{len(value)} items")
    return found
