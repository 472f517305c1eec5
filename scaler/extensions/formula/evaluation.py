"""The value of a formula, in double precision. Every operation must have a finite result."""

import math
from collections.abc import Callable, Mapping

from scaler.algorithm.readings import FailedInput
from scaler.extensions.formula.grammar import Formula, Metric, Node, Number, Operation


class FormulaFailedError(Exception):
    """The formula has no value; the message says why."""


class InputFailedError(FormulaFailedError):
    """A metric of the formula failed; `??` replaces it."""


def evaluate(formula: Formula, inputs: Mapping[str, float | FailedInput]) -> float:
    """The value of the formula. Comparisons are 1 or 0. Raises `FormulaFailedError`.

    A metric that failed, or is absent from `inputs`, fails the formula unless `??` follows it or what contains it.
    """
    return _value(formula.root, inputs)


def _value(node: Node, inputs: Mapping[str, float | FailedInput]) -> float:
    if isinstance(node, Number):
        return node.value
    if isinstance(node, Metric):
        return _input(node, inputs)
    if node.operator == "??":
        try:
            return _value(node.operands[0], inputs)
        except InputFailedError:
            return _value(node.operands[1], inputs)
    return _computed(node, _operands(node, inputs))


def _operands(node: Operation, inputs: Mapping[str, float | FailedInput]) -> list[float]:
    return [_value(each, inputs) for each in node.operands]


def _input(metric: Metric, inputs: Mapping[str, float | FailedInput]) -> float:
    found = inputs.get(metric.name)
    if found is None:
        raise InputFailedError(f"the metric {metric.name} does not exist")
    if isinstance(found, FailedInput):
        raise InputFailedError(f"the metric {metric.name} failed: {found.message}")
    if not math.isfinite(found):
        raise FormulaFailedError(f"the metric {metric.name} is not a finite number")
    return found


def _computed(node: Operation, operands: list[float]) -> float:
    if node.operator == "/" and operands[1] == 0:
        raise FormulaFailedError(f"position {node.position}: division by zero")
    if node.operator == "clamp" and operands[1] > operands[2]:
        raise FormulaFailedError(
            f"position {node.position}: clamp has a lowest value ({operands[1]:g}) above its highest ({operands[2]:g})"
        )
    try:
        result = _OPERATIONS[node.operator](*operands)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise FormulaFailedError(f"position {node.position}: the result is too large")
    return result


def _average(*values: float) -> float:
    # Each term is divided first, so that the sum of large values does not overflow.
    return math.fsum(value / len(values) for value in values)


_OPERATIONS: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: float(a < b),
    "<=": lambda a, b: float(a <= b),
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
    "==": lambda a, b: float(a == b),
    "!=": lambda a, b: float(a != b),
    "negate": lambda a: -a,
    "min": lambda *values: min(values),
    "max": lambda *values: max(values),
    "avg": _average,
    "ceil": lambda a: float(math.ceil(a)),
    "floor": lambda a: float(math.floor(a)),
    "clamp": lambda a, low, high: min(max(a, low), high),
}
