"""Metrics that are computed from other metrics of the spec: Formula."""

from collections.abc import Iterable, Sequence

import msgspec

from scaler.algorithm.amounts import milli
from scaler.algorithm.derivation import MetricDerivation
from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.from_object import whole_derivation, whole_value
from scaler.algorithm.policy import Policy
from scaler.algorithm.propose import Proposal, proposed
from scaler.algorithm.readings import (
    ComputedFrom,
    FailedInput,
    MetricFailed,
    Reading,
    Signal,
)
from scaler.algorithm.remark import Remark
from scaler.algorithm.replicas import replicas_for_external_average
from scaler.algorithm.unusable import MetricUnusable
from scaler.algorithm.workload import Evaluation, Workload, unusable_reading
from scaler.api.autoscaler import (
    ConditionType,
    FormulaMetricSource,
    FormulaMetricStatus,
    MetricSourceType,
    MetricSpec,
    MetricStatus,
    MetricTargetType,
    MetricValueStatus,
    metrics_of,
)
from scaler.extensions.formula.evaluation import FormulaFailedError, evaluate
from scaler.extensions.formula.grammar import Formula, InvalidFormulaError, parse
from scaler.extensions.measured_value import measured_milli
from wire.api.int64 import INT64_MAX
from wire.api.quantity import format_milli
from wire.api.wording import some

# Of all formulas of a spec together. Parsing takes about 2 µs for each, and only a few thousand formulas are kept.
CHARACTERS_MAX = 2048
_NAMED_MAX = 10
_PROBLEMS_MAX = 5
_TOO_LONG = (
    f"the formulas have more than {CHARACTERS_MAX} characters together, so this and the later ones are not computed:"
    " shorten them"
)


class Formulas(Extension[bool, None]):
    """Its only rule is that a metric is one."""

    name = "formula"
    conditions = (ConditionType.INVALID_FORMULA,)

    def rules(self, given: Given, policy: Policy) -> bool | None:
        """None if no metric is computed from others."""
        return any(each.formula is not None for each in metrics_of(given.spec)) or None

    def proposals(self, rules: bool, draft: Draft) -> None:
        """Compute the formulas, now that all other metrics are known."""
        metrics, workload = [each.metric for each in draft.signals], draft.workload
        known = zip(draft.signals, draft.proposals, strict=True)
        inputs = inputs_of((signal, proposal.derivation) for signal, proposal in known)
        computed = _computed(metrics)
        draft.proposals = tuple(
            proposal
            if metric.formula is None
            else formula_proposal(
                metric, inputs if index < computed else MetricFailed(_TOO_LONG), workload
            )
            for index, (metric, proposal) in enumerate(zip(metrics, draft.proposals, strict=True))
        )
        draft.add(formula_remark(metrics, computed))


def _computed(metrics: Sequence[MetricSpec]) -> int:
    """How many of the metrics come before the first formula that exceeds the limit."""
    left = CHARACTERS_MAX
    for index, metric in enumerate(metrics):
        if metric.formula is not None:
            left -= len(metric.formula.expression)
        if left < 0:
            return index
    return len(metrics)


def formula_proposal(metric: MetricSpec, inputs: Reading, workload: Workload) -> Proposal:
    """The proposal of a metric that is a formula."""
    return proposed(
        metric,
        lambda: formula_metric(metric, inputs, workload),
        "FailedComputeFormula",
        formula_name(metric),
    )


def formula_metric(metric: MetricSpec, reading: Reading, workload: Workload) -> Evaluation:
    """The value of the expression, for a target of type Value or AverageValue. Raises MetricUnusable."""
    source = metric.formula
    if source is None:
        raise MetricUnusable("invalid formula metric source: it is empty")
    if not isinstance(reading, ComputedFrom):
        raise unusable_reading(reading)
    formula = _parsed(source)
    value_milli = _value_milli(formula, reading)
    target = source.target
    if target.type == MetricTargetType.VALUE and target.value is not None:
        proposed = whole_value(value_milli, target.value, workload)
        current = MetricValueStatus(value=format_milli(proposed.reported_milli))
        target_text = f"value {target.value}"
    elif target.type == MetricTargetType.AVERAGE_VALUE and target.average_value is not None:
        proposed = replicas_for_external_average(
            value_milli,
            target_milli=milli(target.average_value),
            status_replicas=workload.status_replicas,
            tolerances=workload.policy.tolerances,
        )
        current = MetricValueStatus(average_value=format_milli(proposed.reported_milli))
        target_text = f"average value {target.average_value}"
    else:
        raise MetricUnusable(
            "invalid formula metric source: target.type must be Value or AverageValue"
        )
    return Evaluation(
        status=MetricStatus(
            type=MetricSourceType.FORMULA, formula=FormulaMetricStatus(current=current)
        ),
        derivation=msgspec.structs.replace(
            whole_derivation(
                MetricSourceType.FORMULA, formula_name(metric), target_text, proposed, workload
            ),
            computed_from=", ".join(_in_words(each.name, reading) for each in formula.metrics),
        ),
    )


def formula_name(metric: MetricSpec) -> str:
    """The metric in messages."""
    return f"formula {metric.name}" if metric.name else "formula"


def _in_words(name: str, inputs: ComputedFrom) -> str:
    value = inputs.values.get(name)
    if isinstance(value, float):
        return f"{name} {value:g}"
    return f"{name} failed"


def _parsed(source: FormulaMetricSource) -> Formula:
    try:
        return parse(source.expression)
    except InvalidFormulaError as error:
        raise MetricUnusable(f"invalid formula: {error}") from error


def _value_milli(formula: Formula, inputs: ComputedFrom) -> int:
    """Rounded up, as quantities are."""
    try:
        value = evaluate(formula, inputs.values)
    except FormulaFailedError as error:
        raise MetricUnusable(f"the formula has no value: {error}") from error
    # 12 digits after the point are kept, so that 0.1 + 0.2 is not rounded up to 0.301.
    thousandths = round(value * 1000, 9)
    if abs(thousandths) >= INT64_MAX:
        raise MetricUnusable(f"the formula has no value: {value:g} is too large for a quantity")
    return -int(-thousandths // 1)


def inputs_of(derivations: Iterable[tuple[Signal, MetricDerivation]]) -> ComputedFrom:
    """The named metrics in SI units: the sum of an External metric, the value of an Object metric, else the average per pod."""
    values: dict[str, float | FailedInput] = {}
    for signal, derivation in derivations:
        metric = signal.metric
        if not metric.name or metric.formula is not None:
            continue
        found = measured_milli(signal, derivation)
        if derivation.failure or found is None:
            values[metric.name] = FailedInput(derivation.failure or "it has no value")
        else:
            values[metric.name] = found / 1000
    return ComputedFrom(values)


def formula_remark(metrics: Sequence[MetricSpec], computed: int) -> Remark:
    """The condition `InvalidFormula`: what is wrong with the expressions, whatever the values of the metrics are.

    `computed`: how many of the metrics are; the next one exceeds the limit.
    """
    names = {metric.name for metric in metrics if metric.name and metric.formula is None}
    problems = [
        f"spec.metrics[{index}].formula.expression: {problem}"
        for index, metric in enumerate(metrics[:computed])
        if metric.formula is not None and (problem := _problem(metric.formula, names))
    ]
    if computed < len(metrics):
        problems.insert(
            0, f"spec.metrics[{computed}].formula.expression: with this one {_TOO_LONG}"
        )
    message = "; ".join(problems[:_PROBLEMS_MAX])
    if len(problems) > _PROBLEMS_MAX:
        message += f"; and {len(problems) - _PROBLEMS_MAX} more"
    return Remark(
        condition=ConditionType.INVALID_FORMULA,
        active=bool(problems),
        reason="InvalidExpression" if problems else "ValidExpressions",
        message=message or "every formula is valid",
    )


def _problem(source: FormulaMetricSource, names: set[str]) -> str | None:
    try:
        formula = parse(source.expression)
    except InvalidFormulaError as error:
        return str(error)
    for metric in formula.metrics:
        if metric.name not in names:
            return f"position {metric.position}: {_unknown(metric.name, names)}"
    return None


def _unknown(name: str, names: set[str]) -> str:
    hyphenated = sorted(each for each in names if "-" in each and name in each.split("-"))
    if hyphenated:
        return f"no metric is named {name}; a name with '-' needs quotes: '{hyphenated[0]}'"
    known = some(sorted(names), _NAMED_MAX) or "none has a name"
    return f"no metric is named {name}, or it is a formula itself; the named metrics are: {known}"
