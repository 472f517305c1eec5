"""metrics.k8s.io: what pods and nodes use, with a query per namespace."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from adapter import telemetry
from adapter.answer.evaluating import evaluated
from adapter.answer.observer import UNOBSERVED, AnswerObserver
from adapter.model import (
    NODES,
    PODS,
    GroupResource,
    KubeObject,
    ResourceMapping,
    ResourceMetricRequest,
    ResourceRules,
    UnknownResource,
    UsageValue,
)
from adapter.ports import Evaluator, ObjectNames
from adapter.translate import render
from adapter.translate.query_plan import usage_query
from adapter.translate.refusals import objects_not_listed
from adapter.translate.usage_values import usage_values
from wire.labels import EVERYTHING
from wire.resource_metrics import (
    V1BETA1,
    NodeMetrics,
    NodeMetricsList,
    PodMetrics,
    PodMetricsList,
)
from wire.status import StatusDetails, StatusError, Unavailable, not_found

UsageDocument = PodMetrics | PodMetricsList | NodeMetrics | NodeMetricsList

_USAGE_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("metrics.k8s.io")


class UsageAnswers:
    """Answers what pods or nodes use, or raises `StatusError` that says why it cannot."""

    def __init__(
        self,
        *,
        evaluator: Evaluator,
        objects: ObjectNames,
        mapping: ResourceMapping,
        now: Callable[[], float],
    ) -> None:
        self._evaluator = evaluator
        self._objects = objects
        self._mapping = mapping
        self._now = now

    async def answer(
        self,
        request: ResourceMetricRequest,
        rules: ResourceRules,
        observer: AnswerObserver = UNOBSERVED,
    ) -> UsageDocument:
        """A list, or a single one by name."""
        subjects = await self._subjects(request)
        observer.objects_matched([each.name for each in subjects])
        values = await self._usage(request.resource, subjects, rules, observer)
        observer.answered(values)
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

    async def _subjects(self, request: ResourceMetricRequest) -> Sequence[KubeObject]:
        """The requested pods or nodes; with a name, the selector is ignored."""
        selector = request.selector if request.name is None else EVERYTHING
        try:
            if request.resource == PODS:
                found = await self._objects.running_pods(
                    namespace=request.namespace, selector=selector
                )
            else:
                found = await self._objects.objects(
                    request.resource, namespace="", selector=selector
                )
        except (Unavailable, UnknownResource) as error:
            raise objects_not_listed(request.resource, str(error)) from error
        if request.name is None:
            return [each for each in found if all(term.matches(each) for term in request.fields)]
        named = [each for each in found if each.name == request.name]
        if not named:
            raise _no_subject(request.resource, request.name)
        return named

    async def _usage(
        self,
        resource: GroupResource,
        subjects: Sequence[KubeObject],
        rules: ResourceRules,
        observer: AnswerObserver,
    ) -> list[UsageValue]:
        """There is a query per namespace."""
        by_namespace: dict[str, list[KubeObject]] = {}
        for subject in subjects:
            by_namespace.setdefault(subject.namespace, []).append(subject)
        found = await asyncio.gather(
            *(
                self._usage_in(resource, namespace, together, rules, observer)
                for namespace, together in by_namespace.items()
            )
        )
        return [value for values in found for value in values]

    async def _usage_in(
        self,
        resource: GroupResource,
        namespace: str,
        subjects: Sequence[KubeObject],
        rules: ResourceRules,
        observer: AnswerObserver,
    ) -> Sequence[UsageValue]:
        query = usage_query(
            rules,
            resource=resource,
            namespace=namespace,
            names=[each.name for each in subjects],
            mapping=self._mapping,
        )
        observer.query_built(query)
        cpu, memory = await asyncio.gather(
            evaluated(self._evaluator, query.cpu, rule=rules.cpu.path),
            evaluated(self._evaluator, query.memory, rule=rules.memory.path),
        )
        observer.evaluated(query.cpu, query.cpu_rows, cpu)
        observer.evaluated(query.memory, query.memory_rows, memory)
        return usage_values(cpu, memory, query, subjects)


def _no_subject(resource: GroupResource, name: str) -> StatusError:
    """404 in the words of metrics-server, whose code prometheus-adapter uses: `pods`, but `node`."""
    kind, why = ("node", "") if resource == NODES else ("pods", ": no running pod has that name")
    return not_found(f'{kind} "{name}" not found{why}', StatusDetails(name=name, kind=kind))


def _no_usage(request: ResourceMetricRequest) -> StatusError:
    kind = "nodemetrics" if request.resource == NODES else "podmetrics"
    name = f"{request.namespace}/{request.name}" if request.namespace else request.name or ""
    return not_found(
        f'{kind}.metrics.k8s.io "{name}" not found: Prometheus has no cpu or no memory usage of it',
        StatusDetails(name=name, group="metrics.k8s.io", kind=kind),
    )
