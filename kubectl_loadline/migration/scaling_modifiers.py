"""KEDA's `advanced.scalingModifiers`: a metric of type Formula, which has the other metrics of Prometheus as inputs."""

import re
from collections.abc import Mapping
from typing import Any, Final

from kubectl_loadline.migration.conversion import Json, Remarks
from kubectl_loadline.migration.keda_numbers import GO_FLOAT, activation, target
from scaler.extensions.formula.grammar import (
    COMPARISONS,
    InvalidFormulaError,
    Node,
    Number,
    Operation,
    parse,
)

FIELD: Final = "spec.advanced.scalingModifiers"
_NAME: Final = re.compile(r"[A-Za-z_]\w*\b(?!\s*\()", re.ASCII)
# What `??` is followed by: a number, a name, a function or a parenthesis; the last two begin here and end elsewhere.
_OPERAND: Final = re.compile(
    r"\s*(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|'[^']*'|[A-Za-z_]\w*)?(?P<opened>\s*\()?", re.ASCII
)
_FIX: Final = "Write it as a metric of type Formula, with the fallback and the activationValue, and set use: Input in its metrics."


def formula_metric(
    modifiers: Mapping[str, Any],
    *,
    label: str,
    triggers: Mapping[str, str],
    replaces_failed: bool,
    remarks: Remarks,
) -> Json | None:
    """The metric `label`; None, with a remark, if the formula has something that formulas here do not have.

    `triggers`: the names of the converted metrics by those of their triggers. `replaces_failed`: whether KEDA ever uses what follows `??`,
    with the fallback's behavior `scalingModifiers`. Raises `Unconvertible`.
    """
    expression = _NAME.sub(
        lambda found: _quoted(triggers.get(found[0], found[0])),
        " ".join(str(modifiers.get("formula", "")).split()),
    )
    try:
        if not replaces_failed:
            parse(expression)
            expression = _without_replacements(expression)
        formula = parse(expression)
    except InvalidFormulaError as error:
        _remark(f"{expression!r}, {error}", remarks)
        return None
    named = {each.name for each in formula.metrics}
    if unknown := sorted(named - set(triggers.values())):
        _remark(f"no trigger of type prometheus has the name {', '.join(unknown)}", remarks)
        return None
    if replaces_failed and "??" in expression:
        remarks.add(
            f"{FIELD}.formula",
            "what follows ?? is used as soon as a metric fails, not after failureThreshold failures",
        )
    if _may_divide_by_zero(formula.root):
        remarks.add(
            f"{FIELD}.formula",
            "a division by zero is an error here, so the target keeps its replicas or has those of the fallback. In KEDA, "
            "the target is then not active",
            "Divide by max(..., 0.001).",
        )
    found_target = target(
        f"{FIELD}.target",
        modifiers.get("target", ""),
        f"{FIELD}.metricType",
        modifiers.get("metricType"),
        syntax=GO_FLOAT,
        remarks=remarks,
    )
    if found_target["type"] == "AverageValue" and _may_be_negative(formula.root):
        remarks.add(
            f"{FIELD}.formula",
            "here, a negative result counts as no load. The HPA of KEDA takes it for an overflow, and scales to maxReplicaCount",
        )
    formula_field = {"expression": expression, "target": found_target}
    metric: Json = {"type": "Formula", "name": label, "formula": formula_field}
    return metric | activation(
        f"{FIELD}.activationTarget",
        modifiers.get("activationTarget"),
        syntax=GO_FLOAT,
        remarks=remarks,
    )


def _without_replacements(expression: str) -> str:
    """A valid expression without each `??` and the operand that follows it: in KEDA, a trigger that fails is an error of the whole formula."""
    while (at := expression.find("??")) >= 0:
        found = _OPERAND.match(expression, at + 2)
        end = at + 2 if found is None else found.end()
        if found and found["opened"]:
            end = _closed(expression, end)
        expression = f"{expression[:at].rstrip()}{expression[end:]}"
    return expression


def _closed(expression: str, begin: int) -> int:
    """After the end of the parenthesis in which this place is."""
    depth, end = 1, begin
    while depth and end < len(expression):
        depth += {"(": 1, ")": -1}.get(expression[end], 0)
        end += 1
    return end


def _may_divide_by_zero(node: Node) -> bool:
    if not isinstance(node, Operation):
        return False
    divides = node.operator == "/" and not _is_above_zero(node.operands[1])
    return divides or any(map(_may_divide_by_zero, node.operands))


def _is_above_zero(node: Node) -> bool:
    """Whether it always is, by its syntax."""
    match node:
        case Number():
            return node.value > 0.0
        case Operation(operator="max"):
            return any(map(_is_above_zero, node.operands))
        case Operation(operator="clamp"):
            return _is_above_zero(node.operands[1])
        case Operation(operator="min" | "avg" | "+" | "*" | "/" | "ceil"):
            return all(map(_is_above_zero, node.operands))
    return False


def _may_be_negative(node: Node) -> bool:
    """Whether it may, by its syntax. The inputs are not, as triggers of KEDA."""
    match node:
        case Operation(operator="-" | "negate"):
            return True
        case Operation(operator="max"):
            return all(map(_may_be_negative, node.operands))
        case Operation(operator="clamp"):
            return any(map(_may_be_negative, node.operands[1:]))
        case Operation() if node.operator not in COMPARISONS:
            return any(map(_may_be_negative, node.operands))
    return False


def _quoted(name: str) -> str:
    return f"'{name}'" if "-" in name else name


def _remark(problem: str, remarks: Remarks) -> None:
    remarks.omit(
        FIELD,
        f"the formula is omitted ({problem}), so each metric proposes replicas by the threshold of its trigger (1 for one "
        "that is not above 0), which KEDA ignores beside a formula",
        _FIX,
    )
