"""Each rule tried on a real Prometheus: its series listed, one question sent as the server would send it."""

import time
from collections.abc import Mapping, Sequence

from adapter.commands.check.report import NAMES_MAX, Overlap, RuleReport, Tried
from adapter.config import Configuration
from adapter.fetch.history import History
from adapter.model import (
    EVERY_OBJECT,
    NODES,
    PODS,
    CustomMetricRequest,
    DiscoveryRule,
    Evaluation,
    ExternalMetricRequest,
    GroupResource,
    NamedRule,
    Offer,
    Question,
    ResourceMapping,
    ResourceRules,
    Rule,
    Series,
    UnknownResource,
)
from adapter.ports import QueryFailed
from adapter.translate.explanation import Finding
from adapter.translate.findings import about_values, counted, no_answer
from adapter.translate.nearmiss import NAME
from adapter.translate.plan import custom_question, external_question, usage_question
from adapter.translate.rules import offers
from adapter.translate.values import custom_values, external_values
from adapter.translate.yields import Metric, Trial, by_name_alone, no_series, yielded
from wire.labels import EVERYTHING
from wire.quantity import format_milli
from wire.status import StatusError

LabelSets = Sequence[Mapping[str, str]]

ANY_NAME = (".+", ".+")
"""Names for a usage query over whatever there is: two, so that it is asked for with `=~`."""


class Trier:
    """Tries rules, one after the other. What cannot be asked becomes a finding."""

    def __init__(self, histories: Mapping[str, History], mapping: ResourceMapping) -> None:
        self._histories = histories
        self._mapping = mapping
        self._listed: dict[tuple[str, str], LabelSets] = {}

    def reports(self, configuration: Configuration) -> tuple[RuleReport, ...]:
        """One for each rule, in the order of the file."""
        found = [self._report(rule) for rule in configuration.rules]
        if configuration.resource_rules:
            found += self._usage(configuration.resource_rules)
        return tuple(found)

    def overlaps(self, configuration: Configuration) -> tuple[Overlap, ...]:
        """Which rule takes over metrics of which; to be asked after `reports`, which lists the series."""
        known = {
            key: [Series(each.get(NAME, ""), frozenset(each) - {NAME}) for each in found]
            for key, found in self._listed.items()
        }
        table = offers(configuration.rules, known, self._mapping)
        return tuple(
            Overlap(rule=rule, message=message)
            for rule, messages in table.overlaps.items()
            for message in messages
        )

    def _report(self, rule: Rule) -> RuleReport:
        try:
            if isinstance(rule, NamedRule):
                return self._named(rule)
            return self._discovered(rule)
        except QueryFailed as error:
            return RuleReport(
                rule=rule.path, backend=rule.backend, yields=False, findings=(_failed(error),)
            )

    def _discovered(self, rule: DiscoveryRule) -> RuleReport:
        history = self._histories[rule.backend]
        key = (rule.backend, rule.series_query)
        if key not in self._listed:
            self._listed[key] = history.series(rule.series_query)
        found = self._listed[key]
        come_to = yielded(rule, found, self._mapping)
        findings = list(come_to.findings)
        if not found and (selector := by_name_alone(rule.series_query)):
            without_labels = history.series(selector)
            findings = [
                no_series(rule, without_labels) if each.reason == "NoSeries" else each
                for each in findings
            ]
        tried: tuple[Tried, ...] = ()
        if come_to.trial:
            tried, more = self._tried(come_to.trial)
            if any(each.reason == "NoRows" for each in more):
                # The series may have ended since it was listed: a pod that is gone is no fault of the rule.
                tried, more = self._tried_alive(rule) or (tried, more)
            findings += more
        names = sorted({each.get(NAME, "") for each in found})
        return RuleReport(
            rule=rule.path,
            backend=rule.backend,
            yields=bool(come_to.metrics),
            series_seen=len(found),
            series_names=tuple(names[:NAMES_MAX]),
            metrics=come_to.metrics,
            tried=tried,
            findings=tuple(findings),
        )

    def _named(self, rule: NamedRule) -> RuleReport:
        try:
            question, request = self._asked_of(rule, {})
            evaluation = self._histories[rule.backend].instant(question.plan.query)
            first = dict(evaluation.samples[0].labels) if evaluation.samples else {}
            question, request = self._asked_of(rule, first)
        except UnknownResource as error:
            return self._of_named(rule, findings=(_no_such_resource(rule, str(error)),))
        except StatusError as error:
            return self._of_named(rule, findings=(_not_asked(error),))
        if first and rule.object_label and rule.object_label not in first:
            return self._of_named(rule, findings=(_no_object_label(rule, first),))
        tried, findings = _read(question, request, evaluation)
        return self._of_named(rule, tried=(tried,), findings=tuple(findings))

    def _of_named(
        self, rule: NamedRule, *, tried: tuple[Tried, ...] = (), findings: tuple[Finding, ...]
    ) -> RuleReport:
        described = (str(rule.describes),) if rule.describes else ()
        return RuleReport(
            rule=rule.path,
            backend=rule.backend,
            yields=bool(tried and tried[0].value),
            metrics=(Metric(name=rule.name, series="", resources=described),),
            tried=tried,
            findings=findings,
        )

    def _asked_of(
        self, rule: NamedRule, row: Mapping[str, str]
    ) -> tuple[Question, CustomMetricRequest | ExternalMetricRequest]:
        """The question about the object of a row; with no row, about no object in particular."""
        if rule.describes is None:
            external = ExternalMetricRequest(
                namespace=row.get(rule.namespace_label, ""), metric=rule.name, selector=EVERYTHING
            )
            return external_question(external, Offer(rule), self._mapping), external
        request = CustomMetricRequest(
            resource=self._mapping.resource_for(rule.describes),
            name=row.get(rule.object_label, EVERY_OBJECT),
            metric=rule.name,
            selector=EVERYTHING,
            metric_selector=EVERYTHING,
            namespace=row.get(rule.namespace_label, ""),
        )
        return custom_question(request, Offer(rule), self._mapping, (request.name,)), request

    def _tried(self, trial: Trial) -> tuple[tuple[Tried, ...], list[Finding]]:
        request = trial.request
        try:
            if isinstance(request, CustomMetricRequest):
                question = custom_question(request, trial.offer, self._mapping, (request.name,))
            else:
                question = external_question(request, trial.offer, self._mapping)
        except StatusError as error:
            return (), [_not_asked(error)]
        try:
            evaluation = self._histories[question.plan.backend].instant(question.plan.query)
        except QueryFailed as error:
            unanswered = Tried(
                metric=request.metric, of=_subject(request), query=question.plan.query, rows=0
            )
            return (unanswered,), [_failed(error)]
        tried, findings = _read(question, request, evaluation)
        return (tried,), findings

    def _tried_alive(self, rule: DiscoveryRule) -> tuple[tuple[Tried, ...], list[Finding]] | None:
        """The same with a series that has a value now; None when there is none."""
        alive = self._histories[rule.backend].instant(rule.series_query).samples
        trial = yielded(rule, [each.labels for each in alive], self._mapping).trial
        return self._tried(trial) if trial else None

    def _usage(self, rules: ResourceRules) -> list[RuleReport]:
        return [self._usage_of(rules, resource) for resource in (PODS, NODES)]

    def _usage_of(self, rules: ResourceRules, resource: GroupResource) -> RuleReport:
        """cpu and memory of whatever pods or nodes Prometheus knows."""
        findings: list[Finding] = []
        tried: list[Tried] = []
        try:
            question = usage_question(
                rules, resource=resource, namespace="", names=ANY_NAME, mapping=self._mapping
            )
            for name, plan in (("cpu", question.cpu), ("memory", question.memory)):
                evaluation = self._histories[plan.backend].instant(plan.query)
                rows = len(evaluation.samples)
                tried.append(Tried(metric=name, of=str(resource), query=plan.query, rows=rows))
                if not rows:
                    findings.append(_no_usage(name, resource))
        except StatusError as error:
            findings.append(_not_asked(error))
        except QueryFailed as error:
            findings.append(_failed(error))
        return RuleReport(
            rule=f"resourceRules ({resource})",
            backend=rules.backend,
            yields=not findings,
            tried=tuple(tried),
            findings=tuple(findings),
        )


def _read(
    question: Question,
    request: CustomMetricRequest | ExternalMetricRequest,
    evaluation: Evaluation,
) -> tuple[Tried, list[Finding]]:
    """The answer read as the server reads it."""
    now_seconds = time.time()
    names = (request.name,) if isinstance(request, CustomMetricRequest) else ()
    having = counted(evaluation, question.rows, names)
    findings = about_values(question, evaluation, having, request, names, now_seconds=now_seconds)
    value = ""
    try:
        if isinstance(request, CustomMetricRequest):
            values = custom_values(evaluation, question, request, names, now_seconds=now_seconds)
            value = format_milli(values[0].value_milli) if values else ""
        else:
            rows = external_values(evaluation, question, request, now_seconds=now_seconds)
            value = format_milli(rows[0].value_milli) if rows else ""
    except StatusError as error:
        findings = findings or [_not_asked(error)]
    tried = Tried(
        metric=request.metric,
        of=_subject(request),
        query=question.plan.query,
        rows=len(having),
        value=value,
    )
    return tried, findings


def _subject(request: CustomMetricRequest | ExternalMetricRequest) -> str:
    if isinstance(request, ExternalMetricRequest):
        return f"namespace {request.namespace}" if request.namespace else "everybody"
    inside = f"{request.namespace}/" if request.namespace else ""
    return f"{request.resource} {inside}{request.name}"


def _failed(error: QueryFailed) -> Finding:
    return no_answer(backend=error.backend, cause=error.cause, retryable=error.retryable)


def _not_asked(error: StatusError) -> Finding:
    return Finding(
        step="query",
        reason="NotAsked",
        message=error.message,
        fix="Mend the rule's query or labels.",
    )


def _no_such_resource(rule: NamedRule, message: str) -> Finding:
    return Finding(
        step="resources",
        reason="UnknownResource",
        message=f"{rule.path}.describes: {message}",
        fix="See `kubectl api-resources`. Without --kubeconfig only Kubernetes' own resources are known here.",
    )


def _no_object_label(rule: NamedRule, row: Mapping[str, str]) -> Finding:
    return Finding(
        step="value",
        reason="LabelNotMapped",
        message=f"the rows have no label {rule.object_label!r} that names their object; their labels: {', '.join(sorted(row)) or 'none'}",
        fix=f"Keep it in the query (`by ({rule.object_label}, ...)`), or say under {rule.path}.labels.object which label it is.",
    )


def _no_usage(name: str, resource: GroupResource) -> Finding:
    return Finding(
        step="value",
        reason="NoRows",
        message=f"the query for {name} of {resource} has no row",
        fix="Run it in Prometheus: are the labels of `resources.overrides` those of the series?",
    )
