"""The one place where the core meets the ports: a request -> its rule -> a question -> an evaluation -> the document.

Nothing here knows HTTP, and nothing is decided here that the pure stages can decide.
"""

import time
from collections.abc import Callable, Sequence

from adapter import telemetry
from adapter.answer.evaluating import answered
from adapter.answer.in_force import InForce
from adapter.answer.memory import Questions, Remembered
from adapter.answer.notes import SILENT, Notes
from adapter.answer.usage import UsageAnswers, UsageDocument
from adapter.model import (
    CustomMetricRequest,
    ExternalMetricRequest,
    ExternalValue,
    Gap,
    KubeObject,
    MetricEntry,
    MetricRequest,
    NamedRule,
    ObjectValue,
    Offer,
    Question,
    Reaction,
    ResourceMapping,
    ResourceMetricRequest,
    UnknownResource,
)
from adapter.ports import ObjectNames, Prometheus
from adapter.translate import render
from adapter.translate.plan import (
    custom_question,
    external_question,
    names_asked,
)
from adapter.translate.refusals import (
    custom_metric_not_found,
    external_metric_not_found,
    objects_not_listed,
)
from adapter.translate.values import custom_values, external_values
from wire.custom_metrics import MetricValueList, MetricValueListV1beta1
from wire.external_metrics import ExternalMetricValueList
from wire.status import (
    StatusError,
    Unavailable,
    not_found,
    service_unavailable,
)

AnswerDocument = MetricValueList | MetricValueListV1beta1 | ExternalMetricValueList | UsageDocument

_CUSTOM_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("custom.metrics.k8s.io")
_EXTERNAL_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("external.metrics.k8s.io")


class Answers:
    """Answers every question of the metrics APIs, or raises `StatusError` that says why not."""

    def __init__(
        self,
        *,
        prometheus: Prometheus,
        objects: ObjectNames,
        mapping: ResourceMapping,
        in_force: InForce | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.in_force = in_force or InForce()
        self._prometheus = prometheus
        self._objects = objects
        self._mapping = mapping
        self._now = now
        self._usage = UsageAnswers(prometheus=prometheus, objects=objects, mapping=mapping, now=now)
        self._questions = Questions()
        self._last_custom: Remembered[dict[str, ObjectValue]] = Remembered()
        self._last_external: Remembered[tuple[ExternalValue, ...]] = Remembered()

    async def answer(self, request: MetricRequest, notes: Notes = SILENT) -> AnswerDocument:
        """The document that answers a question to any of the APIs."""
        if isinstance(request, CustomMetricRequest):
            return await self.custom(request, notes)
        if isinstance(request, ExternalMetricRequest):
            return await self.external(request, notes)
        return await self.usage(request, notes)

    async def custom(
        self, request: CustomMetricRequest, notes: Notes = SILENT
    ) -> MetricValueList | MetricValueListV1beta1:
        """One object's value, or those of the objects behind a selector."""
        offer = self._custom_offer(request)
        notes.chose(offer)
        names = names_asked(request)
        if names is None:
            names = tuple(each.name for each in await self._matching(request))
        notes.matched(names)
        question = self._questions.get(request, offer, names)
        if question is None:
            question = custom_question(request, offer, self._mapping, names)
            self._questions.keep(request, offer, names, question)
        notes.asks(question)
        evaluation = await answered(self._prometheus, question)
        notes.heard(question.plan, question.rows, evaluation)
        now_seconds = self._now()
        key = _fallback_key(request, question, offer)
        last = self._last_custom.get(key, {}) if key else {}
        values = custom_values(
            evaluation, question, request, names, now_seconds=now_seconds, last=last
        )
        if key:
            known = {**last, **{value.name: value for value in values}}
            self._last_custom.keep(key, _still_good(known, question, now_seconds))
        if values:
            _CUSTOM_AGE.observe(now_seconds - min(v.timestamp_seconds for v in values))
        notes.answers(values)
        return render.custom_list(request, values, question, self._mapping)

    async def external(
        self, request: ExternalMetricRequest, notes: Notes = SILENT
    ) -> ExternalMetricValueList:
        """The rows of an external metric."""
        offer = self.in_force.catalog.external(request.metric)
        if offer is None:
            raise self._unknown(lambda why: external_metric_not_found(request, why), ())
        notes.chose(offer)
        question = self._questions.get(request, offer)
        if question is None:
            question = external_question(request, offer, self._mapping)
            self._questions.keep(request, offer, (), question)
        notes.asks(question)
        evaluation = await answered(self._prometheus, question)
        notes.heard(question.plan, question.rows, evaluation)
        now_seconds = self._now()
        key = _fallback_key(request, question, offer)
        last = self._last_external.get(key, ()) if key else ()
        values = external_values(evaluation, question, request, now_seconds=now_seconds, last=last)
        if key and values:
            self._last_external.keep(key, values)
        if values:
            _EXTERNAL_AGE.observe(now_seconds - min(v.timestamp_seconds for v in values))
        notes.answers(values)
        return render.external_list(request, values, question)

    async def usage(self, request: ResourceMetricRequest, notes: Notes = SILENT) -> UsageDocument:
        """What pods or nodes use: a list, or the one that was named."""
        rules = self.in_force.resource_rules
        if rules is None:
            raise not_found("the server could not find the requested resource")
        return await self._usage.answer(request, rules, notes)

    def _custom_offer(self, request: CustomMetricRequest) -> Offer:
        catalog = self.in_force.catalog
        try:
            resource = self._mapping.resource_for(request.resource)
        except UnknownResource as error:
            if names_asked(request) is None:
                raise objects_not_listed(request.resource, str(error)) from None
            raise custom_metric_not_found(request, str(error)) from None
        offer = catalog.custom(MetricEntry(resource, bool(request.namespace), request.metric))
        if offer is None:
            elsewhere = [e for e in catalog.custom_entries() if e.metric == request.metric]
            raise self._unknown(lambda why: custom_metric_not_found(request, why), elsewhere)
        return offer

    async def _matching(self, request: CustomMetricRequest) -> Sequence[KubeObject]:
        resource = self._mapping.resource_for(request.resource)
        try:
            return await self._objects.objects(
                resource, namespace=request.namespace, selector=request.selector
            )
        except (Unavailable, UnknownResource) as error:
            raise objects_not_listed(resource, str(error)) from error

    def _unknown(
        self, refusal: Callable[[str], StatusError], elsewhere: Sequence[MetricEntry]
    ) -> StatusError:
        """404, unless a rule that is not known yet might serve the metric: then 503."""
        gaps = self.in_force.catalog.gaps()
        why = _why_unknown(elsewhere, gaps)
        if any(gap.temporary for gap in gaps):
            return service_unavailable(refusal(why).message)
        return refusal(why)


def _fallback_key(
    request: CustomMetricRequest | ExternalMetricRequest, question: Question, offer: Offer
) -> str:
    """Under what the last good values are kept; empty when the contract never falls back on them.

    The rule's query is a part of it: what another query said of a metric, before a reload, is nobody's last value.
    """
    contract = question.contract
    reactions = (contract.on_empty, contract.on_nan, contract.on_stale, contract.on_partial)
    if Reaction.LAST not in reactions:
        return ""
    rule = offer.rule
    query = rule.query if isinstance(rule, NamedRule) else f"{offer.series} {rule.metrics_query}"
    source = f"{rule.backend} {query}"
    if isinstance(request, ExternalMetricRequest):
        return f"{source} {request.namespace}/{request.metric}?{request.selector}"
    subject = f"{request.namespace}/{request.resource}/{request.metric}"
    return f"{source} {subject}?{request.metric_selector}"


def _still_good(
    known: dict[str, ObjectValue], question: Question, now_seconds: float
) -> dict[str, ObjectValue]:
    """Without what may no longer stand in, or the pods of years would be kept."""
    limit_seconds = question.contract.last_for_seconds or 0.0
    return {
        name: value
        for name, value in known.items()
        if now_seconds - value.timestamp_seconds <= limit_seconds
    }


def _why_unknown(elsewhere: Sequence[MetricEntry], gaps: Sequence[Gap]) -> str:
    """What would have to exist."""
    if elsewhere:
        where = ", ".join(
            f"{each.resource}{'' if each.namespaced else ' (not namespaced)'}" for each in elsewhere
        )
        return f"the metric is there for {where}"
    if gaps:
        return "; ".join(f"the series of {gap.rule} are not known: {gap.cause}" for gap in gaps)
    return (
        "no rule makes a metric of that name out of the series that Prometheus has now. Check that the "
        "target is scraped and labelled, or add a rule to the adapter's configuration"
    )
