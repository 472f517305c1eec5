"""The notes of one question, and their telling."""

import math
from collections.abc import Sequence

import msgspec

from adapter.answer.notes import Notes
from adapter.model import (
    DiscoveryRule,
    Evaluation,
    ExternalValue,
    ObjectValue,
    Offer,
    Plan,
    Question,
    Rows,
    Sample,
    UsageQuestion,
    UsageValue,
)
from adapter.translate.explanation import (
    SHOWN_MAX,
    Asked,
    ChosenRule,
    GivenValue,
    MatchedObjects,
    Row,
)
from adapter.translate.findings import counted
from wire.quantity import format_milli

Value = ObjectValue | ExternalValue | UsageValue


class Heard(msgspec.Struct, frozen=True):
    """One plan's answer, and which rows of it count."""

    plan: Plan
    rows: Rows
    evaluation: Evaluation


class Trace(Notes):
    """What happened so far; None is what has not happened."""

    def __init__(self) -> None:
        self.offer: Offer | None = None
        self.names: tuple[str, ...] | None = None
        self.question: Question | None = None
        self.plans: list[Plan] = []
        self.evaluations: list[Heard] = []
        self.values: tuple[Value, ...] | None = None

    def chose(self, offer: Offer) -> None:
        self.offer = offer

    def matched(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def asks(self, question: Question | UsageQuestion) -> None:
        if isinstance(question, Question):
            self.question = question
            self.plans.append(question.plan)
            if question.ages is not None:
                self.plans.append(question.ages.plan)
        else:
            self.plans += [question.cpu, question.memory]

    def heard(self, plan: Plan, rows: Rows, evaluation: Evaluation) -> None:
        self.evaluations.append(Heard(plan, rows, evaluation))

    def answers(self, values: Sequence[Value]) -> None:
        self.values = tuple(values)

    def rule(self) -> ChosenRule | None:
        """Which rule serves."""
        if self.offer is None:
            return None
        rule = self.offer.rule
        template = rule.metrics_query if isinstance(rule, DiscoveryRule) else rule.query
        return ChosenRule(
            path=rule.path, backend=rule.backend, series=self.offer.series, template=template
        )

    def objects(self) -> MatchedObjects | None:
        """Which objects are asked for; an external metric has none."""
        if self.names is None:
            return None
        return MatchedObjects(count=len(self.names), names=self.names[:SHOWN_MAX])

    def queries(self) -> tuple[Asked, ...]:
        """Every query, with its answer where there was one."""
        answered = {each.plan: each for each in self.evaluations}
        return tuple(
            self._asked(answered[plan])
            if plan in answered
            else Asked(backend=plan.backend, query=plan.query)
            for plan in self.plans
        )

    def counted(self, heard: Heard) -> list[Sample]:
        """The rows that belong to the request."""
        return counted(heard.evaluation, heard.rows, self.names or ())

    def given(self) -> tuple[GivenValue, ...]:
        """The first values of the answer."""
        return tuple(_given(value) for value in (self.values or ())[:SHOWN_MAX])

    def without_usage(self) -> list[str]:
        """Pods or nodes that were asked for and have no usage."""
        having = {each.subject.name for each in self.values or () if isinstance(each, UsageValue)}
        return [name for name in self.names or () if name not in having]

    def _asked(self, heard: Heard) -> Asked:
        mine = self.counted(heard)
        evaluation = heard.evaluation
        return Asked(
            backend=heard.plan.backend,
            query=heard.plan.query,
            result=evaluation.kind.value,
            rows_returned=len(evaluation.samples),
            rows_counted=len(mine),
            rows=tuple(_row(each) for each in mine[:SHOWN_MAX]),
            warnings=evaluation.warnings,
            partial=evaluation.partial,
        )


def _row(sample: Sample) -> Row:
    return Row(
        labels=dict(sample.labels),
        value=prometheus_text(sample.value),
        timestamp_seconds=sample.timestamp_seconds,
    )


def prometheus_text(value: float) -> str:
    """A number as Prometheus writes it: 12, 1.5, NaN, +Inf."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _given(value: Value) -> GivenValue:
    if isinstance(value, UsageValue):
        cpu = sum(each.cpu_milli for each in value.usage.values())
        memory = sum(each.memory_milli for each in value.usage.values())
        return GivenValue(
            of=value.subject.name,
            value=f"cpu={format_milli(cpu)}, memory={format_milli(memory)}",
            timestamp_seconds=value.timestamp_seconds,
        )
    of = value.name if isinstance(value, ObjectValue) else _labels(value)
    return GivenValue(
        of=of,
        value=format_milli(value.value_milli),
        timestamp_seconds=value.timestamp_seconds,
    )


def _labels(value: ExternalValue) -> str:
    return ", ".join(f"{name}={text}" for name, text in sorted((value.labels or {}).items()))
