"""The recorded steps of one request, and the parts of an explanation made from them."""

from collections.abc import Sequence

import msgspec

from adapter.answer.observer import AnswerObserver
from adapter.diagnosis.explanation import (
    SHOWN_MAX,
    ChosenRule,
    EvaluatedQuery,
    MatchedObjects,
    Row,
    ServedValue,
)
from adapter.diagnosis.findings import counted, prometheus_text
from adapter.documents.signal_contract import Judgement
from adapter.model import (
    DiscoveryRule,
    Evaluation,
    ExternalValue,
    KubeObject,
    MetricQuery,
    ObjectValue,
    Offer,
    Plan,
    Rows,
    Sample,
    UsageQuery,
    UsageValue,
)
from wire.api.quantity import format_milli

Value = ObjectValue | ExternalValue | UsageValue


class PlanEvaluation(msgspec.Struct, frozen=True):
    """One plan's evaluation, and which rows of it belong to the request."""

    plan: Plan
    rows: Rows
    evaluation: Evaluation


class Trace(AnswerObserver):
    """What has happened so far; None for what has not."""

    def __init__(self) -> None:
        self.offer: Offer | None = None
        self.names: tuple[str, ...] | None = None
        self.query: MetricQuery | None = None
        self.plans: list[Plan] = []
        self.evaluations: list[PlanEvaluation] = []
        self.judgements: tuple[Judgement, ...] = ()
        self.without_usage: dict[str, str] = {}
        """The requested pods or nodes that have no usage, and why."""
        self.values: tuple[Value, ...] | None = None
        self.is_shared = False

    def rule_chosen(self, offer: Offer) -> None:
        self.offer = offer

    def objects_matched(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def query_built(self, query: MetricQuery | UsageQuery) -> None:
        if isinstance(query, MetricQuery):
            self.query = query
            self.plans.append(query.plan)
            if query.ages is not None:
                self.plans.append(query.ages.plan)
        else:
            self.plans += [query.cpu, query.memory]

    def evaluated(self, plan: Plan, rows: Rows, evaluation: Evaluation) -> None:
        self.evaluations.append(PlanEvaluation(plan, rows, evaluation))

    def answered_together(self) -> None:
        self.is_shared = True

    def judged(self, judgements: Sequence[Judgement]) -> None:
        self.judgements = tuple(judgements)

    def usage_left_out(self, subject: KubeObject, why: str) -> None:
        self.without_usage[subject.name] = why

    def answered(self, values: Sequence[Value]) -> None:
        self.values = tuple(values)

    def rule(self) -> ChosenRule | None:
        """The rule that serves the metric."""
        if self.offer is None:
            return None
        rule = self.offer.rule
        template = rule.metrics_query if isinstance(rule, DiscoveryRule) else rule.query
        return ChosenRule(
            path=rule.path, backend=rule.backend.name, series=self.offer.series, template=template
        )

    def objects(self) -> MatchedObjects | None:
        """The requested objects; an external metric has none."""
        if self.names is None:
            return None
        return MatchedObjects(count=len(self.names), names=self.names[:SHOWN_MAX])

    def queries(self) -> tuple[EvaluatedQuery, ...]:
        """Every query, with its result where there is one."""
        evaluations = {each.plan: each for each in self.evaluations}
        return tuple(
            self._evaluated(evaluations[plan])
            if plan in evaluations
            else EvaluatedQuery(
                backend=plan.backend.name, query=plan.query, row_labels=self._row_labels(plan)
            )
            for plan in self.plans
        )

    def counted(self, plan: PlanEvaluation) -> list[Sample]:
        """The rows that belong to the request."""
        return counted(plan.evaluation, plan.rows, self.names or ())

    def served(self) -> tuple[ServedValue, ...]:
        """The first values of the answer."""
        return tuple(_served(value) for value in (self.values or ())[:SHOWN_MAX])

    def _row_labels(self, plan: Plan) -> dict[str, str]:
        if self.query is None or plan != self.query.plan:
            return {}
        rows, names = self.query.rows, self.names or ()
        of_object = {rows.object_label: names[0]} if rows.object_label and len(names) == 1 else {}
        return {**dict(rows.where), **of_object}

    def _evaluated(self, plan: PlanEvaluation) -> EvaluatedQuery:
        rows = self.counted(plan)
        evaluation = plan.evaluation
        return EvaluatedQuery(
            backend=plan.plan.backend.name,
            query=plan.plan.query,
            result=evaluation.kind.value,
            rows_returned=len(evaluation.samples),
            rows_counted=len(rows),
            rows=tuple(_row(each) for each in rows[:SHOWN_MAX]),
            row_labels=self._row_labels(plan.plan),
            warnings=evaluation.warnings,
            partial=evaluation.partial,
        )


def _row(sample: Sample) -> Row:
    return Row(
        labels=dict(sample.labels),
        value=prometheus_text(sample.value),
        timestamp_seconds=sample.timestamp_seconds,
    )


def _served(value: Value) -> ServedValue:
    if isinstance(value, UsageValue):
        cpu = sum(each.cpu_milli for each in value.usage.values())
        memory = sum(each.memory_milli for each in value.usage.values())
        return ServedValue(
            of=value.subject.name,
            value=f"cpu={format_milli(cpu)}, memory={format_milli(memory)}",
            timestamp_seconds=value.timestamp_seconds,
        )
    of = value.name if isinstance(value, ObjectValue) else _labels(value)
    return ServedValue(
        of=of,
        value=format_milli(value.value_milli),
        timestamp_seconds=value.timestamp_seconds,
    )


def _labels(value: ExternalValue) -> str:
    return ", ".join(f"{name}={text}" for name, text in sorted((value.labels or {}).items()))
