"""KEDA's `advanced.scalingModifiers`: a metric of type Formula, which has the other metrics of Prometheus as inputs."""

import re
from collections.abc import Mapping
from typing import Any, Final

from kubectl_loadline.migration.conversion import Json, Remarks
from scaler.extensions.formula.grammar import InvalidFormulaError, parse

FIELD: Final = "spec.advanced.scalingModifiers"
_NAME: Final = re.compile(r"[A-Za-z_]\w*\b(?!\s*\()", re.ASCII)
_FIX: Final = "Write it as a metric of type Formula, with the fallback and the activationValue, and set use: Input in its metrics."


def formula_metric(
    modifiers: Mapping[str, Any], *, label: str, triggers: Mapping[str, str], remarks: Remarks
) -> Json | None:
    """The metric `label`; None, with a remark, if the formula has something that formulas here do not have.

    `triggers`: the names of the converted metrics by those of their triggers. Raises `Unconvertible`.
    """
    expression = _NAME.sub(
        lambda found: _quoted(triggers.get(found[0], found[0])),
        " ".join(str(modifiers.get("formula", "")).split()),
    )
    try:
        named = {each.name for each in parse(expression).metrics}
    except InvalidFormulaError as error:
        _remark(f"{expression!r}, {error}", remarks)
        return None
    if unknown := sorted(named - set(triggers.values())):
        _remark(f"no trigger of type prometheus has the name {', '.join(unknown)}", remarks)
        return None
    target = remarks.target(
        f"{FIELD}.target",
        modifiers.get("target", ""),
        f"{FIELD}.metricType",
        modifiers.get("metricType"),
    )
    metric: Json = {
        "type": "Formula", "name": label, "formula": {"expression": expression, "target": target},
    }  # fmt: skip
    if activation := str(modifiers.get("activationTarget") or "").strip():
        metric["activationValue"] = activation
    return metric


def _quoted(name: str) -> str:
    return f"'{name}'" if "-" in name else name


def _remark(problem: str, remarks: Remarks) -> None:
    remarks.add(
        FIELD,
        f"the formula is omitted ({problem}), so each metric proposes replicas and the largest proposal wins",
        _FIX,
    )
