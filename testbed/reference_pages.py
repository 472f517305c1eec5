"""The reference pages that are generated from the code: `docs/reference/*.md`.

python -m testbed.reference_pages
"""

import ast
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from adapter.__main__ import PROGRAM as ADAPTER
from kubectl_loadline.program import PROGRAM as PLUGIN
from scaler.__main__ import PROGRAM as SCALER
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.telemetry import DESIRED, Telemetry
from scaler.extensions import EXTENSIONS
from scaler.runtime import autoscaler_metrics
from wire.process import go_yaml

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = ROOT / "docs" / "reference"
CHARTS: Final = ROOT / "charts"
CRDS: Final = CHARTS / "scaler" / "files" / "crds"
GENERATED: Final = "This page is generated: `.venv/bin/python -m testbed.reference_pages`.\n"
COLUMNS: Final = "110"
AUTOSCALER_METRICS: Final = "loadline_scaler_autoscaler_"
RANGES: Final = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " entries"),
)
NOT_PLAIN: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
"""The parts of an object that are not fields of its own."""
UNLIMITED: Final = 2**31 - 1
"""The largest int32. A reader need not know this limit."""

Json = dict[str, Any]


def pages() -> dict[str, str]:
    """The text of each page by its file name."""
    return {
        "commands.md": commands_page(),
        "fields.md": fields_page(),
        "alerts.md": alerts_page(),
        "metrics.md": metrics_page(),
    }


def commands_page() -> str:
    """The help of every command of the three programs."""
    os.environ["COLUMNS"] = COLUMNS
    sections, rows = [], ["| command | purpose |", "|---|---|"]
    for program in (ADAPTER, SCALER, PLUGIN):
        name = "kubectl loadline" if program is PLUGIN else program.name
        for command in dict.fromkeys((program.default, *program.commands)):
            title = name if command is program.default else f"{name} {command.name}"
            anchor = title.replace(" ", "-")
            rows.append(f"| [`{title}`](#{anchor}) | {_cell(command.summary)} |")
            text = command.load().parser().format_help().rstrip()
            sections.append(f"## {title}\n\n```text\n{text}\n```\n")
    introduction = (
        "The help of each command, as `--help` prints it. Exit codes are at the end of each.\n"
    )
    index = "\n".join(rows) + "\n"
    return "\n".join(["# Commands and flags\n", GENERATED, introduction, index, *sections])


def fields_page() -> str:
    """Every field of every kind, from the schemas that kube-apiserver validates."""
    sections, rows = [], []
    for path in sorted(CRDS.glob("*.yaml")):
        for definition in go_yaml.load_all(path.read_text("utf-8")):
            sections += list(_kind(definition))
            rows.append(_row_of_kind(definition))
    introduction = (
        "All fields of each kind, with their types, defaults and limits, and the messages with which kube-apiserver rejects an "
        "object. [LoadAutoscaler](../loadautoscaler.md) explains how to use the fields.\n"
    )
    kinds = "\n".join(["| kind | purpose |", "|---|---|", *rows]) + "\n"
    return "\n".join(["# Fields of each kind\n", GENERATED, introduction, kinds, *sections])


def _row_of_kind(definition: Json) -> str:
    """The kind with a link to its section, and the first sentence of its description."""
    kind = definition["spec"]["names"]["kind"]
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    purpose = re.split(r"(?<=\.) ", _sentence(schema))[0]
    return f"| [{kind}](#{kind.lower()}) | {_cell(purpose)} |"


def _kind(definition: Json) -> Iterator[str]:
    """The section of a CustomResourceDefinition."""
    names, group = definition["spec"]["names"], definition["spec"]["group"]
    version = definition["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    yield f"## {names['kind']}\n\n`{group}/{version['name']}`. {_sentence(schema)}\n"
    seen: dict[str, str] = {}
    parts = schema["properties"]
    plain = {name: field for name, field in parts.items() if name not in NOT_PLAIN}
    rows = [
        *_fields({**schema, "properties": plain}, "", seen),
        *(
            row
            for part in ("spec", "status")
            if part in parts
            for row in _fields(parts[part], part, seen)
        ),
    ]
    yield "\n".join(["| field | type, default, limits | meaning |", "|---|---|---|", *rows]) + "\n"
    rules = list(dict.fromkeys(_rules(schema)))
    if rules:
        yield f"kube-apiserver refuses a {names['kind']} with one of these messages:\n"
        yield "\n".join(f"- {rule}" for rule in rules) + "\n"


def _fields(schema: Json, path: str, seen: dict[str, str]) -> Iterator[str]:
    """A row for each field below a path. Fields that were listed at another path already are referred to."""
    for name, field in schema.get("properties", {}).items():
        here, inner = f"{path}.{name}".lstrip("."), field
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
            for group in go_yaml.load(file.read_text("utf-8"))["groups"]
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


class Metric(msgspec.Struct, frozen=True, order=True):
    """A metric of a program."""

    name: str
    type: str
    labels: tuple[str, ...]
    meaning: str


def metrics_page() -> str:
    """The metrics that both programs export, from the calls that define them."""
    adapter = sorted(set(_defined("adapter")))
    desired = "Replicas that the last decision wants, as kube-controller-manager exports it; removed when the autoscaler is deleted."
    of_each = Metric(DESIRED, "gauge", LOAD_AUTOSCALERS.metric_labels, desired)
    scaler = sorted({*_defined("scaler"), of_each})
    each = sorted(
        Metric(
            AUTOSCALER_METRICS + name, "gauge", (*LOAD_AUTOSCALERS.metric_labels, *more), meaning
        )
        for name, meaning, more in _of_autoscalers()
    )
    sections = [
        f"## {title}\n\n{_metrics_table(found)}\n"
        for title, found in (
            ("loadline-adapter", adapter),
            ("loadline-scaler", scaler),
            ("Of each autoscaler", each),
            ("Of the process", sorted(_of_the_process())),
        )
    ]
    introduction = (
        "Both programs export these metrics at `/metrics`. To scrape them, see [monitoring](../monitoring.md).\n\n"
        "- Metrics in [Of each autoscaler](#of-each-autoscaler) have the labels `namespace`, `name` and `kind` (LoadAutoscalers), "
        "or `namespace` and `hpa_name` (HPAs). Only the replica of the scaler that reconciles the autoscaler exports them. "
        "`--autoscaler-metrics=false` turns them off. The tables show the labels for LoadAutoscalers.\n"
        "- `reconciliations_total`, `reconciliation_duration_seconds`, `metric_computation_total`, `metric_computation_duration_seconds`, "
        "`num_horizontal_pod_autoscalers`, `desired_replicas` and `stale_sync_skips_total` have the names and labels of the HPA controller's metrics, "
        "with the prefix `loadline_scaler_` instead of `horizontal_pod_autoscaler_controller_`.\n"
        "- Metrics in [Of the process](#of-the-process) have no prefix. Both programs export `process_*`, and the adapter also `python_*`.\n"
    )
    return "\n".join(["# Metrics\n", GENERATED, introduction, *sections])


def _of_the_process() -> Iterator[Metric]:
    """The metrics of the process and of Python that prometheus_client adds."""
    for family in REGISTRY.collect():
        if not family.name.startswith("loadline_"):
            labels = tuple(family.samples[0].labels) if family.samples else ()
            name = f"{family.name}_total" if family.type == "counter" else family.name
            yield Metric(name, family.type, labels, f"{family.documentation.rstrip('.')}.")


def _metrics_table(metrics: Iterable[Metric]) -> str:
    rows = (
        f"| `{each.name}` | {each.type} | {', '.join(f'`{label}`' for label in each.labels)} | {_cell(each.meaning)} |"
        for each in metrics
    )
    return "\n".join(["| metric | type | labels | meaning |", "|---|---|---|---|", *rows])


def _defined(program: str) -> Iterator[Metric]:
    """The metrics of prometheus_client in the code of a program. Their names are literals there, or constants of the module."""
    labels = _labels()
    for path in sorted((ROOT / program).rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        constants = dict(_constants(tree))
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Name(id="GaugeMetricFamily"),
                    args=[ast.Name(id=constant), ast.Constant(value=str(meaning))],
                    keywords=[ast.keyword(arg="labels", value=ast.Tuple() as literal)],
                ):
                    yield Metric(constants[constant], "gauge", _literal([literal]), meaning)
                case ast.Call(
                    func=ast.Name(id="Counter" | "Gauge" | "Histogram" as kind),
                    args=[ast.Constant(value=str(name)), ast.Constant(value=str(meaning)), *more],
                ) if name.startswith("loadline_"):
                    plain = name.removesuffix("_total")
                    found = labels[plain] if plain in labels else _literal(more)
                    yield Metric(
                        f"{plain}_total" if kind == "Counter" else name,
                        kind.lower(),
                        found,
                        meaning,
                    )


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The texts that a module assigns to names."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                yield name, value
            case _:
                pass


def _labels() -> dict[str, tuple[str, ...]]:
    """The label names of the metrics that exist when a program has started, by their names."""
    import_module("adapter.telemetry")
    registries = (REGISTRY, Telemetry().registry, Telemetry(shards=1).registry)
    collectors = (each for found in registries for each in found._collector_to_names)  # noqa: SLF001 - not exported
    return {
        each._name: tuple(each._labelnames)  # noqa: SLF001
        for each in collectors
        if isinstance(each, MetricWrapperBase)
    }


def _literal(arguments: Sequence[ast.expr]) -> tuple[str, ...]:
    """Label names that are written where the metric is defined."""
    match arguments:
        case [ast.Tuple() | ast.List() as literal, *_]:
            return tuple(str(each) for each in ast.literal_eval(literal))
        case _:
            return ()


def _of_autoscalers() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The name, the meaning and the labels besides those of the autoscaler, of each metric of autoscalers."""
    for name, meaning, _ in autoscaler_metrics._METRICS:  # noqa: SLF001 - the list is not exported otherwise
        yield name, meaning, ()
    for name, meaning, label, _ in autoscaler_metrics._LABELLED:  # noqa: SLF001 - as above
        yield name, meaning, (label,)
    for extension in EXTENSIONS:
        for gauge in extension.gauges:
            yield gauge.name, gauge.help, ()


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
