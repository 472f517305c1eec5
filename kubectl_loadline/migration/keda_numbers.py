"""Numbers in the texts of a ScaledObject. Like KEDA, without the suffixes of a quantity: 500m is none."""

import re
from typing import Final

from kubectl_loadline.migration.conversion import Json, Remarks, advice

JSON_NUMBER: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""In the `metadata` of triggers, which KEDA reads with `json.Unmarshal` (`TypedConfig`)."""
GO_FLOAT: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""In `scalingModifiers`, as strconv.ParseFloat reads them; its hexadecimal forms and its names, such as Inf, are left out."""

UNUSED_TARGET: Final = "1"


def target(
    field: str,
    value: object,
    type_field: str,
    given_type: object,
    *,
    syntax: re.Pattern[str],
    remarks: Remarks,
    is_unused: bool = False,
) -> Json:
    """The target of a metric, from its value and KEDA's `metricType`. Raises `Unconvertible`.

    It must be above zero, unless it is unused: then `UNUSED_TARGET` replaces another one, because the CRD requires a target.
    """
    text = str(value).strip()
    if not text:
        raise remarks.unconvertible(field, "it is missing, and KEDA requires it")
    number = _number(text, syntax)
    if number is None or (number <= 0 and not is_unused):
        wanted = "a number" if is_unused else "a number above 0"
        raise remarks.unconvertible(
            field, f"{text!r} is not {wanted}, such as 5 or 0.5{advice(text)}"
        )
    kind = given_type or "AverageValue"
    if kind not in ("AverageValue", "Value"):
        raise remarks.unconvertible(
            type_field, f"{kind!r} is neither AverageValue nor Value, which KEDA refuses"
        )
    quantity = text if number > 0 else UNUSED_TARGET
    return {"type": kind, "value" if kind == "Value" else "averageValue": quantity}


def activation(field: str, value: object, *, syntax: re.Pattern[str], remarks: Remarks) -> Json:
    """KEDA's activation value of a metric as the field `activationValue`; nothing without one. Raises `Unconvertible`.

    A negative one, which the CRD refuses, stays: `replica_bounds` removes it.
    """
    text = str(value or "").strip()
    if not text:
        return {}
    number = _number(text, syntax)
    if number is None:
        raise remarks.unconvertible(
            field, f"{text!r} is not a number, such as 5 or 0.5{advice(text)}"
        )
    # The CRD accepts no sign, as of -0.
    return {"activationValue": text if number < 0 else text.lstrip("-")}


def _number(text: str, syntax: re.Pattern[str]) -> float | None:
    """None for text that is not one, or too large for KEDA."""
    if not syntax.fullmatch(text):
        return None
    found = float(text)
    return found if abs(found) != float("inf") else None
