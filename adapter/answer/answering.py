"""A request to any of the metrics APIs -> its document."""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence

from adapter import telemetry
from adapter.answer.active_configuration import ActiveConfiguration
from adapter.answer.evaluating import own_rows
from adapter.answer.last_good_values import LastGoodValues, last_good_values
from adapter.answer.left_out_objects import LeftOutObjects
from adapter.answer.metric_paths import KnownRequest
from adapter.answer.observer import UNOBSERVED, AnswerObserver
from adapter.answer.query_plan import (
    custom_metric_query,
    external_metric_query,
    requested_names,
)
from adapter.answer.usage_answers import UsageAnswers, UsageDocument
from adapter.documents import render
from adapter.documents.metric_values import custom_values, external_values
from adapter.documents.refusals import (
    custom_metric_not_found,
    external_metric_not_found,
    objects_not_listed,
)
from adapter.documents.signal_contract import is_fresh
from adapter.model import (
    NAMESPACES,
    NODES,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    ExternalValue,
    Gap,
    GroupResource,
    KubeObject,
    MetricEntry,
    MetricQuery,
    NamedRule,
    ObjectValue,
    Offer,
    Reaction,
    ResourceMapping,
    ResourceMetricRequest,
    UnknownResource,
)
from adapter.ports import Catalog, Evaluator, ObjectNames
from adapter.wide.plans import WidePlans
from wire.api.custom_metrics import MetricValueList, MetricValueListV1beta1
from wire.api.external_metrics import ExternalMetricValueList
from wire.api.status import (
    StatusError,
    Unavailable,
    path_not_found,
    service_unavailable,
)

NOT_NAMESPACED = (NAMESPACES, NODES, GroupResource("persistentvolumes"))
"""Metrics of these have no namespace in their path, also in prometheus-adapter."""

AnswerDocument = MetricValueList | MetricValueListV1beta1 | ExternalMetricValueList | UsageDocument

_CUSTOM_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("custom.metrics.k8s.io")
_WIDE = telemetry.ANSWERS.labels("wide")
_OWN = telemetry.ANSWERS.labels("own")
_EXTERNAL_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("external.metrics.k8s.io")


class Answers:
    """Answers every request to the metrics APIs, or raises `StatusError` that says why it cannot."""

    def __init__(
        self,
        *,
        evaluator: Evaluator,
        objects: ObjectNames,
        mapping: ResourceMapping,
        active: ActiveConfiguration,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`active` is replaced by each reload. `monotonic`: the clock by which evaluations say how far that of Prometheus is ahead."""
        self.active = active
        self._evaluator = evaluator
        self._objects = objects
        self._mapping = mapping
        self._now = now
        self._monotonic = monotonic
        self._left_out = LeftOutObjects()
        last_good = last_good_values()
        self._last_custom = LastGoodValues[Mapping[str, ObjectValue]](last_good, {})
        self._last_external = LastGoodValues[tuple[ExternalValue, ...]](last_good, ())

    async def answer(
        self,
        known: KnownRequest,
        observer: AnswerObserver = UNOBSERVED,
        active: ActiveConfiguration | None = None,
    ) -> AnswerDocument:
        """The document that answers a request. `active`: by which configuration, the one that is active now if it is None."""
        request, active = known.request, active or self.active
        if isinstance(request, CustomMetricRequest):
            return await self.custom(request, observer, known, active)
        if isinstance(request, ExternalMetricRequest):
            return await self.external(request, observer, known, active)
        return await self.usage(request, observer, active)

    async def custom(
        self,
        request: CustomMetricRequest,
        observer: AnswerObserver = UNOBSERVED,
        known: KnownRequest | None = None,
        active: ActiveConfiguration | None = None,
    ) -> MetricValueList | MetricValueListV1beta1:
        """The value of one object, or of each object that a selector matches."""
        active = active or self.active
        offer = self._custom_offer(request, active)
        observer.rule_chosen(offer)
        names = requested_names(request)
        if names is None:
            names = tuple(each.name for each in await self._matching(request))
        observer.objects_matched(names)
        query = known.query(offer, names) if known is not None else None
        if query is None:
            query = custom_metric_query(request, offer, self._mapping, names)
            if known is not None:
                known.keep(offer, names, query)
        observer.query_built(query)
        evaluation = await self._rows(query, names, observer, active.wide_plans)
        observer.result_received()
        key = _fallback_key(request, query, offer)
        last = self._last_custom.get(key)
        now_seconds = self._monotonic()
        found = custom_values(
            evaluation,
            query,
            request,
            names,
            now_seconds=now_seconds,
            last=last,
            judged=observer.judged,
        )
        if found.left_out:
            self._left_out.report(request, query, found.left_out)
        values = found.values
        if key:
            measured = {value.name: value for value in values if not value.substitute}
            self._last_custom.keep(key, _still_good({**last, **measured}, query, now_seconds))
        if values:
            _CUSTOM_AGE.observe(now_seconds - min(v.sampled_seconds for v in values))
        observer.answered(values)
        return render.custom_list(request, values, query, self._mapping)

    async def external(
        self,
        request: ExternalMetricRequest,
        observer: AnswerObserver = UNOBSERVED,
        known: KnownRequest | None = None,
        active: ActiveConfiguration | None = None,
    ) -> ExternalMetricValueList:
        """The rows of an external metric."""
        active = active or self.active
        offer = active.catalog.external(request.metric)
        if offer is None:
            raise _unknown(active, lambda why: external_metric_not_found(request, why), ())
        observer.rule_chosen(offer)
        query = known.query(offer) if known is not None else None
        if query is None:
            query = external_metric_query(request, offer, self._mapping)
            if known is not None:
                known.keep(offer, (), query)
        observer.query_built(query)
        evaluation = await self._rows(query, (), observer, active.wide_plans)
        observer.result_received()
        key = _fallback_key(request, query, offer)
        last = self._last_external.get(key)
        now_seconds = self._monotonic()
        values = external_values(
            evaluation,
            query,
            request,
            now_seconds=now_seconds,
            last=last,
            judged=observer.judged,
        )
        if key and values and not any(value.substitute for value in values):
            self._last_external.keep(key, values)
        if values:
            _EXTERNAL_AGE.observe(now_seconds - min(v.sampled_seconds for v in values))
        observer.answered(values)
        return render.external_list(request, values, query)

    async def usage(
        self,
        request: ResourceMetricRequest,
        observer: AnswerObserver = UNOBSERVED,
        active: ActiveConfiguration | None = None,
    ) -> UsageDocument:
        """What pods or nodes use: a list, or a single one by name."""
        active = active or self.active
        if active.resource_rules is None:
            raise path_not_found()
        usage = UsageAnswers(
            evaluator=self._evaluator,
            objects=self._objects,
            mapping=self._mapping,
            wide_plans=active.wide_plans,
            now=self._now,
            monotonic=self._monotonic,
        )
        return await usage.answer(request, active.resource_rules, observer)

    async def _rows(
        self,
        query: MetricQuery,
        names: Sequence[str],
        observer: AnswerObserver,
        wide_plans: WidePlans | None,
    ) -> Evaluation:
        """The rows of the request: of a wide query, or of its own query."""
        if wide_plans:
            narrow = query.plan.query
            shared = await wide_plans.evaluation_for(
                query.wide, narrow, names, explains=observer.explains
            )
            if shared is not None:
                observer.answered_together()
                observer.evaluated(query.plan, query.rows, shared)
                _WIDE.inc()
                return shared
        observer.needs_own_query()
        found = await own_rows(self._evaluator, query, names, observer)
        if wide_plans and not observer.explains:
            wide_plans.own_query_answered(query.wide, query.plan.query, found)
        _OWN.inc()
        return found

    def _custom_offer(self, request: CustomMetricRequest, active: ActiveConfiguration) -> Offer:
        catalog = active.catalog
        try:
            resource = self._mapping.resource_for(request.resource)
        except UnknownResource as error:
            if requested_names(request) is None:
                raise objects_not_listed(request.resource, str(error)) from None
            raise custom_metric_not_found(request, str(error)) from None
        offer = catalog.custom(MetricEntry(resource, bool(request.namespace), request.metric))
        if offer is None:
            offer = _cluster_scoped_offer(request, resource, catalog)
        if offer is None:
            elsewhere = catalog.entries_of(request.metric)
            raise _unknown(active, lambda why: custom_metric_not_found(request, why), elsewhere)
        return offer

    async def _matching(self, request: CustomMetricRequest) -> Sequence[KubeObject]:
        resource = self._mapping.resource_for(request.resource)
        try:
            return await self._objects.objects(
                resource, namespace=request.namespace, selector=request.selector
            )
        except (Unavailable, UnknownResource) as error:
            raise objects_not_listed(resource, str(error)) from error


def _cluster_scoped_offer(
    request: CustomMetricRequest, resource: GroupResource, catalog: Catalog
) -> Offer | None:
    """That of a cluster-scoped object that is requested within a namespace, as the HPA controller does: the series of the namespace count.

    prometheus-adapter takes the objects of every resource but three for namespaced (`SetSeries`). The query of a named metric would
    show a namespace the values of others.
    """
    if not request.namespace or requested_names(request) is None or resource in NOT_NAMESPACED:
        return None
    offer = catalog.custom(MetricEntry(resource, False, request.metric))
    return None if offer is None or isinstance(offer.rule, NamedRule) else offer


def _unknown(
    active: ActiveConfiguration,
    refusal: Callable[[str], StatusError],
    elsewhere: Sequence[MetricEntry],
) -> StatusError:
    """404; 503 while the series of some rule are not known, since that rule might serve the metric."""
    gaps = active.catalog.gaps()

    def refused(shown: Sequence[Gap]) -> StatusError:
        found = refusal(_why_unknown(elsewhere, shown))
        if any(gap.temporary for gap in gaps):
            return service_unavailable(found.message)
        return found

    public = refused([gap.public() for gap in gaps])
    public.in_full = refused(gaps)
    return public


def _fallback_key(
    request: CustomMetricRequest | ExternalMetricRequest, query: MetricQuery, offer: Offer
) -> str:
    """The key of the last good values; empty when the contract never falls back on them.

    The rule's query and its labels are a part of it: after a reload, the values of other series or objects must not be used.
    """
    contract = query.contract
    reactions = (contract.on_empty, contract.on_nan, contract.on_stale, contract.on_partial)
    if Reaction.LAST not in reactions:
        return ""
    rule = offer.rule
    if isinstance(rule, NamedRule):
        text = f"{rule.query} {rule.object_label} {rule.namespace_label}"
    else:
        text = f"{offer.series} {rule.metrics_query} {rule.resources}"
    source = f"{rule.backend.name} {rule.backend.source} {text}"
    if isinstance(request, ExternalMetricRequest):
        subject = f"{request.namespace}/{request.metric}?{request.selector}"
    else:
        metric = f"{request.namespace}/{request.resource}/{request.metric}"
        subject = f"{metric}?{request.metric_selector}"
    # The texts are long, and kept for each metric.
    return hashlib.blake2b(f"{source} {subject}".encode(), digest_size=16).hexdigest()


def _still_good(
    known: dict[str, ObjectValue], query: MetricQuery, now_seconds: float
) -> dict[str, ObjectValue]:
    """Only the values that may still be used; otherwise every pod that ever existed would be kept."""
    return {name: value for name, value in known.items() if is_fresh(value, query, now_seconds)}


def _why_unknown(elsewhere: Sequence[MetricEntry], gaps: Sequence[Gap]) -> str:
    """What is missing."""
    if elsewhere:
        where = ", ".join(
            f"{each.resource}{'' if each.namespaced else ' (not namespaced)'}" for each in elsewhere
        )
        return f"the metric exists for {where}"
    if gaps:
        return "; ".join(f"the series of {gap.rule} are not known: {gap.cause}" for gap in gaps)
    return (
        "no rule yields a metric of that name from the series that Prometheus has now. Check that the "
        "target is scraped and labelled, or add a rule to the adapter's configuration"
    )
