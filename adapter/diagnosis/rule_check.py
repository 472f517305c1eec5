"""Each rule tried on a real Prometheus: its series listed, one request answered as the server would answer it."""

import time
from collections.abc import Mapping, Sequence

import msgspec

from adapter.answer.query_plan import custom_metric_query, external_metric_query, usage_query
from adapter.config import Configuration
from adapter.diagnosis.check_report import NAMES_MAX, Overlap, RuleReport, Tried
from adapter.diagnosis.explanation import Finding
from adapter.diagnosis.findings import about_values, counted, no_answer
from adapter.diagnosis.near_misses import NAME
from adapter.diagnosis.rule_yields import Metric, Trial, by_name_alone, no_series, yielded
from adapter.diagnosis.short_ranges import short_ranges
from adapter.documents.metric_values import custom_values, external_values
from adapter.documents.signal_contract import Judgement
from adapter.model import (
    EVERY_OBJECT,
    NODES,
    PODS,
    BackendRef,
    CustomMetricRequest,
    DiscoveryRule,
    Evaluation,
    ExternalMetricRequest,
    ExternalValue,
    GroupResource,
    MetricQuery,
    NamedRule,
    ObjectValue,
    Offer,
    Plan,
    ResourceMapping,
    ResourceRules,
    Rule,
    Series,
    UnknownResource,
)
from adapter.ports import Prometheus, QueryFailed
from adapter.promql.series_offers import offers
from wire.api.labels import EVERYTHING
from wire.api.quantity import format_milli
from wire.api.status import StatusError

LabelSets = Sequence[Mapping[str, str]]

LISTED_SECONDS = 600.0
"""Series are listed this far back: the default of --metrics-max-age."""

ANY_NAME = (".+", ".+")
"""Names for a usage query over every object: two, so that the matcher is `=~`."""


class RuleChecker:
    """Tries rules, one after the other. What cannot be tried becomes a finding."""

    def __init__(self, prometheus: Prometheus, mapping: ResourceMapping) -> None:
        self._prometheus = prometheus
        self._mapping = mapping
        self._listed: dict[tuple[BackendRef, str], LabelSets] = {}

    async def reports(self, configuration: Configuration) -> tuple[RuleReport, ...]:
        """One for each rule, in the order of the file."""
        found = [
            await self._with_short_ranges(await self._report(rule), rule.backend)
            for rule in configuration.rules
        ]
        if rules := configuration.resource_rules:
            found += [
                await self._with_short_ranges(await self._usage(rules, resource), rules.backend)
                for resource in (PODS, NODES)
            ]
        return tuple(found)

    async def _with_short_ranges(self, report: RuleReport, backend: BackendRef) -> RuleReport:
        """The report, and the ranges of its queries that are too short for the scrape interval."""
        queries = [each.query for each in report.tried]
        found = await short_ranges(self._prometheus, backend, queries)
        return msgspec.structs.replace(report, findings=(*report.findings, *found))

    def overlaps(self, configuration: Configuration) -> tuple[Overlap, ...]:
        """Which rules replace metrics of earlier ones; call it after `reports`, which lists the series."""
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

    async def _report(self, rule: Rule) -> RuleReport:
        try:
            if isinstance(rule, NamedRule):
                return await self._named(rule)
            return await self._discovered(rule)
        except QueryFailed as error:
            # `_discovered` evaluates nothing else outside `_tried`.
            field = "`query`" if isinstance(rule, NamedRule) else "`seriesQuery`"
            return RuleReport(
                rule=rule.path,
                backend=rule.backend.name,
                yields=False,
                findings=(_failed(error, field),),
            )

    async def _discovered(self, rule: DiscoveryRule) -> RuleReport:
        key = (rule.backend, rule.series_query)
        if key not in self._listed:
            self._listed[key] = await self._label_sets(rule, rule.series_query)
        found = self._listed[key]
        result = yielded(rule, found, self._mapping)
        findings = list(result.findings)
        if not found and (selector := by_name_alone(rule.series_query)):
            without_labels = await self._label_sets(rule, selector)
            findings = [
                no_series(rule, without_labels) if each.reason == "NoSeries" else each
                for each in findings
            ]
        tried: tuple[Tried, ...] = ()
        if result.trial:
            tried, more = await self._tried(result.trial)
            if any(each.reason == "NoRows" for each in more):
                # The listed series may have ended since: a pod that is gone is not the rule's fault.
                tried, more = await self._tried_alive(rule) or (tried, more)
            findings += more
        names = sorted({each.get(NAME, "") for each in found})
        return RuleReport(
            rule=rule.path,
            backend=rule.backend.name,
            yields=bool(result.metrics),
            series_seen=len(found),
            series_names=tuple(names[:NAMES_MAX]),
            metrics=result.metrics,
            tried=tried,
            findings=tuple(findings),
        )

    async def _label_sets(self, rule: DiscoveryRule, selector: str) -> LabelSets:
        return await self._prometheus.label_sets(
            match=selector, backend=rule.backend, max_age_seconds=LISTED_SECONDS
        )

    async def _named(self, rule: NamedRule) -> RuleReport:
        try:
            query, request = self._query_of(rule, {})
            evaluation = await self._prometheus.evaluate(query.plan)
            first = dict(evaluation.samples[0].labels) if evaluation.samples else {}
            query, request = self._query_of(rule, first)
        except UnknownResource as error:
            return self._of_named(rule, findings=(_no_such_resource(rule, str(error)),))
        except StatusError as error:
            return self._of_named(rule, findings=(_not_queried(error),))
        if first and rule.object_label and rule.object_label not in first:
            return self._of_named(rule, findings=(_no_object_label(rule, first),))
        tried, findings = self._read(query, request, evaluation)
        return self._of_named(rule, tried=(tried,), findings=tuple(findings))

    def _of_named(
        self, rule: NamedRule, *, tried: tuple[Tried, ...] = (), findings: tuple[Finding, ...]
    ) -> RuleReport:
        described = (str(rule.describes),) if rule.describes else ()
        return RuleReport(
            rule=rule.path,
            backend=rule.backend.name,
            yields=bool(tried and tried[0].value),
            metrics=(Metric(name=rule.name, series="", resources=described),),
            tried=tried,
            findings=findings,
        )

    def _query_of(
        self, rule: NamedRule, row: Mapping[str, str]
    ) -> tuple[MetricQuery, CustomMetricRequest | ExternalMetricRequest]:
        """The query for the object of a row; without a row, for no object in particular."""
        if rule.describes is None:
            external = ExternalMetricRequest(
                namespace=row.get(rule.namespace_label, ""), metric=rule.name, selector=EVERYTHING
            )
            return external_metric_query(external, Offer(rule), self._mapping), external
        request = CustomMetricRequest(
            resource=self._mapping.resource_for(rule.describes),
            name=row.get(rule.object_label, EVERY_OBJECT),
            metric=rule.name,
            selector=EVERYTHING,
            metric_selector=EVERYTHING,
            namespace=row.get(rule.namespace_label, ""),
        )
        return custom_metric_query(request, Offer(rule), self._mapping, (request.name,)), request

    async def _tried(self, trial: Trial) -> tuple[tuple[Tried, ...], list[Finding]]:
        request = trial.request
        try:
            if isinstance(request, CustomMetricRequest):
                query = custom_metric_query(request, trial.offer, self._mapping, (request.name,))
            else:
                query = external_metric_query(request, trial.offer, self._mapping)
        except StatusError as error:
            return (), [_not_queried(error)]
        try:
            evaluation = await self._prometheus.evaluate(query.plan)
        except QueryFailed as error:
            unanswered = Tried(
                metric=request.metric,
                of=self._subject(request),
                query=query.plan.query,
                rows=0,
            )
            return (unanswered,), [_failed(error, "`metricsQuery`")]
        tried, findings = self._read(query, request, evaluation)
        return (tried,), findings

    async def _tried_alive(
        self, rule: DiscoveryRule
    ) -> tuple[tuple[Tried, ...], list[Finding]] | None:
        """The same with a series that has a value now; None when there is none."""
        alive = (await self._prometheus.evaluate(Plan(rule.series_query, rule.backend))).samples
        trial = yielded(rule, [each.labels for each in alive], self._mapping).trial
        return await self._tried(trial) if trial else None

    async def _usage(self, rules: ResourceRules, resource: GroupResource) -> RuleReport:
        """cpu and memory of all pods or nodes that Prometheus knows."""
        findings: list[Finding] = []
        tried: list[Tried] = []
        try:
            query = usage_query(
                rules, resource=resource, namespace="", names=ANY_NAME, mapping=self._mapping
            )
            for name, plan in (("cpu", query.cpu), ("memory", query.memory)):
                evaluation = await self._prometheus.evaluate(plan)
                rows = len(evaluation.samples)
                tried.append(Tried(metric=name, of=str(resource), query=plan.query, rows=rows))
                if not rows:
                    findings.append(_no_usage(name, resource))
        except StatusError as error:
            findings.append(_not_queried(error))
        except QueryFailed as error:
            findings.append(
                _failed(error, "`containerQuery`" if resource == PODS else "`nodeQuery`")
            )
        return RuleReport(
            rule=f"resourceRules ({resource})",
            backend=rules.backend.name,
            yields=not findings,
            tried=tuple(tried),
            findings=tuple(findings),
        )

    def _read(
        self,
        query: MetricQuery,
        request: CustomMetricRequest | ExternalMetricRequest,
        evaluation: Evaluation,
    ) -> tuple[Tried, list[Finding]]:
        """The evaluation, read as the server reads it."""
        now_seconds = time.monotonic()
        names = (request.name,) if isinstance(request, CustomMetricRequest) else ()
        served: Sequence[ObjectValue | ExternalValue] | None = None
        refused: StatusError | None = None
        judged: list[Judgement] = []
        try:
            if isinstance(request, CustomMetricRequest):
                served = custom_values(
                    evaluation, query, request, names, now_seconds=now_seconds, judged=judged.extend
                ).values
            else:
                served = external_values(
                    evaluation, query, request, now_seconds=now_seconds, judged=judged.extend
                )
        except StatusError as error:
            refused = error
        findings = about_values(
            query,
            evaluation,
            request,
            judged,
            is_refused=refused is not None,
            now_seconds=now_seconds,
        )
        if refused and not findings:
            findings = [_not_queried(refused)]
        tried = Tried(
            metric=request.metric,
            of=self._subject(request),
            query=query.plan.query,
            rows=len(counted(evaluation, query.rows, names)),
            value=format_milli(served[0].value_milli) if served else "",
        )
        return tried, findings

    def _subject(self, request: CustomMetricRequest | ExternalMetricRequest) -> str:
        if isinstance(request, ExternalMetricRequest):
            return f"namespace {request.namespace}" if request.namespace else "every namespace"
        inside = f"{request.namespace}/" if request.namespace else ""
        resource = request.resource
        if request.name != EVERY_OBJECT:
            singular = self._mapping.singular(resource.resource)
            resource = GroupResource(singular, resource.group)
        return f"{resource} {inside}{request.name}"


def _failed(error: QueryFailed, field: str) -> Finding:
    return no_answer(
        backend=error.backend, cause=error.cause, retryable=error.retryable, fields=field
    )


def _not_queried(error: StatusError) -> Finding:
    return Finding(
        step="query",
        reason="NotQueried",
        message=error.message,
        fix="Fix the rule's query or labels.",
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
