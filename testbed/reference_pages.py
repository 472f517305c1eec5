"""The reference pages that are generated from the code: `docs/reference/*.md`.

python -m testbed.reference_pages
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from adapter.__main__ import PROGRAM as ADAPTER
from kubectl_loadline.program import PROGRAM as PLUGIN
from scaler.__main__ import PROGRAM as SCALER

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs" / "reference"
CHARTS: Final = ROOT / "charts"
CRDS: Final = CHARTS / "scaler" / "files" / "crds"
GENERATED: Final = "This page is generated: `.venv/bin/python -m testbed.reference_pages`.\n"
COLUMNS: Final = "110"
RANGES: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
)
UNLIMITED: Final = 2**31 - 1
"""The largest int32. A reader need not know this limit."""

Json = dict[str, Any]


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    return {
        "commands.md": commands_page(),
        "fields.md": fields_page(),
        "alerts.md": alerts_page(),
    }


def commands_page() -> str:
    """The help of every command of the three programs."""
    os.environ["COLUMNS"] = COLUMNS
    sections = []
    for program in (ADAPTER, SCALER, PLUGIN):
        name = "kubectl loadline" if program is PLUGIN else program.name
        for command in dict.fromkeys((program.default, *program.commands)):
            title = name if command is program.default else f"{name} {command.name}"
            text = command.load().parser().format_help().rstrip()
            sections.append(f"## {title}\n\n```text\n{text}\n```\n")
    introduction = (
        "The help of each command, as `--help` prints it. Exit codes are at the end of each.\n"
    )
    return "\n".join(["# Commands and flags\n", GENERATED, introduction, *sections])


def fields_page() -> str:
    """Every field of every kind, from the schemas that kube-apiserver validates."""
    sections = []
    for path in sorted(CRDS.glob("*.yaml")):
        for definition in yaml.safe_load_all(path.read_text("utf-8")):
            sections += list(_kind(definition))
    introduction = (
        "Fields that kube-apiserver accepts, with their defaults and limits, and what it checks besides. What the fields "
        "are for is described in [LoadAutoscaler](../loadautoscaler.md).\n"
    )
    return "\n".join(["# Fields of each kind\n", GENERATED, introduction, *sections])


def _kind(definition: Json) -> Iterator[str]:
    """The section of a CustomResourceDefinition."""
    names, group = definition["spec"]["names"], definition["spec"]["group"]
    version = definition["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    yield f"## {names['kind']}\n\n`{group}/{version['name']}`. {_sentence(schema)}\n"
    seen: dict[str, str] = {}
    rows = [
        row
        for part in ("spec", "status")
        if part in schema["properties"]
        for row in _fields(schema["properties"][part], part, seen)
    ]
    yield "\n".join(["| field | type, default, limits | meaning |", "|---|---|---|", *rows]) + "\n"
    rules = list(dict.fromkeys(_rules(schema)))
    if rules:
        yield f"kube-apiserver refuses a {names['kind']} with one of these messages:\n"
        yield "\n".join(f"- {rule}" for rule in rules) + "\n"


def _fields(schema: Json, path: str, seen: dict[str, str]) -> Iterator[str]:
    """A row for each field below a path. Fields that were listed at another path already are referred to."""
    for name, field in schema.get("properties", {}).items():
        here, inner = f"{path}.{name}", field
        while inner.get("type") == "array":
            here, inner = f"{here}[]", inner["items"]
        if (
            isinstance(inner.get("additionalProperties"), dict)
            and "properties" in inner["additionalProperties"]
        ):
            here, inner = f"{here}.*", inner["additionalProperties"]
        same = json.dumps(inner.get("properties"), sort_keys=True)
        first = seen.setdefault(same, here) if "properties" in inner else here
        meaning = _sentence(field) or _sentence(inner)
        if first != here:
            meaning = f"{meaning} Its fields are those of `{first}`.".strip()
        is_required = name in schema.get("required", ())
        yield f"| `{here}` | {_type(field, inner, is_required=is_required)} | {_cell(meaning)} |"
        if first == here:
            yield from _fields(inner, here, seen)


def _sentence(schema: Json) -> str:
    return " ".join(str(schema.get("description", "")).split())


def _type(field: Json, inner: Json, *, is_required: bool) -> str:
    """The type, whether the field is required, its default and its limits."""
    found = [_name_of_type(field)]
    if is_required:
        found.append("required")
    if "enum" in inner:
        found.append("one of " + ", ".join(f"`{each}`" for each in inner["enum"]))
    found += [
        text
        for schema in (field, inner)
        for low, high, unit in RANGES
        if (text := _range(schema.get(low), schema.get(high))) and (text := text + unit)
    ]
    if "default" in field:
        found.append(f"default `{json.dumps(field['default'])}`")
    return _cell("; ".join(dict.fromkeys(found)))


def _range(low: int | None, high: int | None) -> str:
    """`1 to 20`, `at least 1`, `at most 20`, or nothing."""
    match low, high if high != UNLIMITED else None:
        case None, None:
            return ""
        case None, most:
            return f"at most {most:,}"
        case least, None:
            return f"at least {least:,}"
        case least, most:
            return f"{least:,} to {most:,}"


def _name_of_type(field: Json) -> str:
    if field.get("x-kubernetes-int-or-string"):
        return "quantity"
    if field.get("type") == "array":
        return f"list of {_name_of_type(field['items'])}"
    return str(field.get("format") or field.get("type") or "any")


def _rules(schema: Json) -> Iterator[str]:
    """The messages of the CEL rules of a schema and of all below."""
    for rule in schema.get("x-kubernetes-validations", ()):
        if "message" in rule:
            yield " ".join(rule["message"].split())
    for inner in schema.get("properties", {}).values():
        yield from _rules(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _rules(schema[key])


def alerts_page() -> str:
    """The alerts of both charts."""
    sections = []
    for chart in ("adapter", "scaler"):
        file = CHARTS / chart / "files" / "alerts.yaml"
        rules = [
            rule
            for group in yaml.safe_load(file.read_text("utf-8"))["groups"]
            for rule in group["rules"]
            if "alert" in rule
        ]
        rows = [_alert(rule) for rule in rules]
        table = [
            "| alert | severity | for | expression | meaning |",
            "|---|---|---|---|---|",
            *rows,
        ]
        sections.append(f"## Alerts of charts/{chart}\n\n" + "\n".join(table) + "\n")
    introduction = "The charts install these alerts with `prometheusRule.enabled`. Each links to its [runbook](../runbooks.md).\n"
    return "\n".join(["# Alerts\n", GENERATED, introduction, *sections])


def _alert(rule: Json) -> str:
    name = rule["alert"]
    cells = (
        f"[{name}](../runbooks.md#{name.lower()})",
        rule.get("labels", {}).get("severity", ""),
        rule.get("for", ""),
        f"`{' '.join(rule['expr'].split())}`",
        " ".join(rule["annotations"]["description"].split()),
    )
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    """A text that stays within its cell."""
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def main() -> int:
    """Write all pages."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
