"""The one place where the core meets the ports: a request -> its rule -> a question -> an evaluation -> the document.

Nothing here knows HTTP, and nothing is decided here that the pure stages can decide.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import msgspec

from adapter import telemetry
from adapter.model import (
    NODES,
    PODS,
    CustomMetricRequest,
    Evaluation,
    ExternalMetricRequest,
    ExternalValue,
    Gap,
    GroupResource,
    KubeObject,
    MetricEntry,
    ObjectValue,
    Offer,
    Plan,
    Question,
    Reaction,
    ResourceMapping,
    ResourceMetricRequest,
    ResourceRules,
    UnknownResource,
    UsageValue,
)
from adapter.ports import Catalog, ObjectNames, Prometheus, QueryFailed
from adapter.translate import render
from adapter.translate.plan import (
    custom_question,
    external_question,
    names_asked,
    usage_question,
)
from adapter.translate.refusals import (
    custom_metric_not_found,
    external_metric_not_found,
    metrics_not_fetched,
    objects_not_listed,
)
from adapter.translate.usage import usage_values
from adapter.translate.values import custom_values, external_values
from wire.custom_metrics import MetricValueList, MetricValueListV1beta1
from wire.external_metrics import ExternalMetricValueList
from wire.resource_metrics import (
    V1BETA1,
    NodeMetrics,
    NodeMetricsList,
    PodMetrics,
    PodMetricsList,
)
from wire.status import StatusError, Unavailable, not_found, service_unavailable

QUERY_SHOWN_MAX = 400
"""A query over a thousand pods has tens of kilobytes, and a message ends up in an autoscaler's condition."""

REMEMBERED_MAX = 10_000

_CUSTOM_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("custom.metrics.k8s.io")
_EXTERNAL_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("external.metrics.k8s.io")
_USAGE_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("metrics.k8s.io")

UsageDocument = PodMetrics | PodMetricsList | NodeMetrics | NodeMetricsList


class NothingYet:
    """The catalog of no configuration."""

    def custom_entries(self) -> Sequence[MetricEntry]:
        """Nothing."""
        return ()

    def external_metrics(self) -> Sequence[str]:
        """Nothing."""
        return ()

    def custom(self, entry: MetricEntry) -> Offer | None:  # noqa: ARG002 - the port's signature
        """Nobody."""
        return None

    def external(self, metric: str) -> Offer | None:  # noqa: ARG002 - the port's signature
        """Nobody."""
        return None

    def gaps(self) -> Sequence[Gap]:
        """None."""
        return ()


class InForce(msgspec.Struct, frozen=True, kw_only=True):
    """What one configuration came to; replaced as a whole when the file changes."""

    catalog: Catalog = NothingYet()
    groups: tuple[str, ...] = ()
    """The API groups that are served: those for which there are rules."""
    resource_rules: ResourceRules | None = None


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
        self._questions = _Questions()
        self._last_custom: _Remembered[dict[str, ObjectValue]] = _Remembered()
        self._last_external: _Remembered[tuple[ExternalValue, ...]] = _Remembered()

    async def custom(
        self, request: CustomMetricRequest
    ) -> MetricValueList | MetricValueListV1beta1:
        """One object's value, or those of the objects behind a selector."""
        offer = self._custom_offer(request)
        names = names_asked(request)
        if names is None:
            names = tuple(each.name for each in await self._matching(request))
        question = self._questions.get(request, offer, names)
        if question is None:
            question = custom_question(request, offer, self._mapping, names)
            self._questions.keep(request, offer, names, question)
        evaluation = await self._evaluate(question.plan, question.rule)
        now_seconds, key = self._now(), (request.metric, request.namespace, str(request.resource))
        last = self._last_custom.get(key, {})
        values = custom_values(
            evaluation, question, request, names, now_seconds=now_seconds, last=last
        )
        if _falls_back(question):
            self._last_custom.keep(key, {**last, **{value.name: value for value in values}})
        if values:
            _CUSTOM_AGE.observe(now_seconds - min(v.timestamp_seconds for v in values))
        return render.custom_list(request, values, question, self._mapping)

    async def external(self, request: ExternalMetricRequest) -> ExternalMetricValueList:
        """The rows of an external metric."""
        offer = self.in_force.catalog.external(request.metric)
        if offer is None:
            raise self._unknown(lambda why: external_metric_not_found(request, why), ())
        question = self._questions.get(request, offer)
        if question is None:
            question = external_question(request, offer, self._mapping)
            self._questions.keep(request, offer, (), question)
        evaluation = await self._evaluate(question.plan, question.rule)
        now_seconds, key = self._now(), (request.metric, request.namespace, str(request.selector))
        values = external_values(
            evaluation,
            question,
            request,
            now_seconds=now_seconds,
            last=self._last_external.get(key, ()),
        )
        if _falls_back(question):
            self._last_external.keep(key, values)
        if values:
            _EXTERNAL_AGE.observe(now_seconds - min(v.timestamp_seconds for v in values))
        return render.external_list(request, values, question)

    async def usage(self, request: ResourceMetricRequest) -> UsageDocument:
        """What pods or nodes use: a list, or the one that was named."""
        subjects = await self._subjects(request)
        values = await self._usage(request.resource, subjects)
        now_seconds = self._now()
        if values:
            _USAGE_AGE.observe(now_seconds - min(v.timestamp_seconds for v in values))
        of_nodes = request.resource == NODES
        if request.name is None:
            if of_nodes:
                return render.node_metrics_list(values, now_seconds)
            return render.pod_metrics_list(values, now_seconds)
        if not values:
            raise _no_usage(request)
        if of_nodes:
            node = render.node_metrics(values[0], now_seconds)
            return msgspec.structs.replace(node, kind="NodeMetrics", api_version=V1BETA1)
        pod = render.pod_metrics(values[0], now_seconds)
        return msgspec.structs.replace(pod, kind="PodMetrics", api_version=V1BETA1)

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

    async def _evaluate(self, plan: Plan, rule: str) -> Evaluation:
        try:
            return await self._prometheus.evaluate(plan)
        except QueryFailed as error:
            query = _shown(error.query)
            raise metrics_not_fetched(
                f"{rule}: Prometheus ({error.backend}) did not answer {query}: {error.cause}"
            ) from error

    def _unknown(
        self, refusal: Callable[[str], StatusError], elsewhere: Sequence[MetricEntry]
    ) -> StatusError:
        """404, unless a rule that is not known yet might serve the metric: then 503."""
        gaps = self.in_force.catalog.gaps()
        why = _why_unknown(elsewhere, gaps)
        if any(gap.temporary for gap in gaps):
            return service_unavailable(refusal(why).message)
        return refusal(why)

    async def _subjects(self, request: ResourceMetricRequest) -> Sequence[KubeObject]:
        try:
            if request.resource == PODS:
                found = await self._objects.running_pods(
                    namespace=request.namespace, selector=request.selector
                )
            else:
                found = await self._objects.objects(
                    request.resource, namespace="", selector=request.selector
                )
        except (Unavailable, UnknownResource) as error:
            raise objects_not_listed(request.resource, str(error)) from error
        if request.name is None:
            return found
        named = [each for each in found if each.name == request.name]
        if not named:
            raise not_found(f'{request.resource} "{request.name}" not found')
        return named

    async def _usage(
        self, resource: GroupResource, subjects: Sequence[KubeObject]
    ) -> list[UsageValue]:
        """The usage namespace by namespace, as the queries are."""
        by_namespace: dict[str, list[KubeObject]] = {}
        for subject in subjects:
            by_namespace.setdefault(subject.namespace, []).append(subject)
        found = await asyncio.gather(
            *(
                self._usage_in(resource, namespace, together)
                for namespace, together in by_namespace.items()
            )
        )
        return [value for values in found for value in values]

    async def _usage_in(
        self, resource: GroupResource, namespace: str, subjects: Sequence[KubeObject]
    ) -> Sequence[UsageValue]:
        rules = self.in_force.resource_rules
        if rules is None:
            raise not_found("the server could not find the requested resource")
        question = usage_question(
            rules,
            resource=resource,
            namespace=namespace,
            names=[each.name for each in subjects],
            mapping=self._mapping,
        )
        cpu, memory = await asyncio.gather(
            self._evaluate(question.cpu, rules.cpu.path),
            self._evaluate(question.memory, rules.memory.path),
        )
        return usage_values(cpu, memory, question, subjects)


Value = TypeVar("Value")


class _Questions:
    """Questions made before: an autoscaler asks the same every 15 s, and rendering a template is most of an answer.

    An offer is made anew whenever series, rules or the cluster's resources change, so a question holds while its offer
    and the names of its objects do. One is held for each request, so that pods which come and go leave nothing behind.
    """

    def __init__(self) -> None:
        self._made: dict[
            CustomMetricRequest | ExternalMetricRequest, tuple[Offer, tuple[str, ...], Question]
        ] = {}

    def get(
        self,
        request: CustomMetricRequest | ExternalMetricRequest,
        offer: Offer,
        names: tuple[str, ...] = (),
    ) -> Question | None:
        held = self._made.get(request)
        return held[2] if held and held[0] is offer and held[1] == names else None

    def keep(
        self,
        request: CustomMetricRequest | ExternalMetricRequest,
        offer: Offer,
        names: tuple[str, ...],
        question: Question,
    ) -> None:
        if len(self._made) >= REMEMBERED_MAX:
            self._made.clear()
        self._made[request] = (offer, names, question)


class _Remembered(Generic[Value]):
    """The last good values of metrics whose contract may fall back on them; the oldest go first."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, str, str], Value] = {}

    def get(self, key: tuple[str, str, str], default: Value) -> Value:
        return self._values.get(key, default)

    def keep(self, key: tuple[str, str, str], value: Value) -> None:
        self._values.pop(key, None)
        self._values[key] = value
        if len(self._values) > REMEMBERED_MAX:
            del self._values[next(iter(self._values))]


def _falls_back(question: Question) -> bool:
    contract = question.contract
    reactions = (contract.on_empty, contract.on_nan, contract.on_stale, contract.on_partial)
    return Reaction.LAST in reactions


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


def _no_usage(request: ResourceMetricRequest) -> StatusError:
    kind = "nodes" if request.resource == NODES else "pods"
    name = f"{request.namespace}/{request.name}" if request.namespace else request.name
    return not_found(
        f'{kind}.metrics.k8s.io "{name}" not found: Prometheus has no cpu or no memory usage of it'
    )


def _shown(query: str) -> str:
    if len(query) <= QUERY_SHOWN_MAX:
        return repr(query)
    half = QUERY_SHOWN_MAX // 2
    return f"{query[:half]!r} ... {query[-half:]!r} ({len(query)} characters)"
