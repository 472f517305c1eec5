"""metrics.k8s.io: what pods and nodes use, with two queries for any number of namespaces where that is proven to be the same."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from adapter import telemetry
from adapter.answer.evaluating import evaluated
from adapter.answer.observer import UNOBSERVED, AnswerObserver
from adapter.answer.query_plan import usage_query
from adapter.documents import render
from adapter.documents.refusals import objects_not_listed
from adapter.documents.usage_values import usage_values
from adapter.model import (
    NODES,
    PODS,
    Evaluation,
    GroupResource,
    KubeObject,
    Lane,
    Plan,
    ResourceMapping,
    ResourceMetricRequest,
    ResourceRules,
    Sending,
    UnknownResource,
    UsageQuery,
    UsageValue,
    Wide,
)
from adapter.ports import Evaluator, ObjectNames
from adapter.promql.row_selection import selected
from adapter.wide.plans import WidePlans
from wire.api.labels import EVERYTHING
from wire.api.resource_metrics import (
    V1BETA1,
    NodeMetrics,
    NodeMetricsList,
    PodMetrics,
    PodMetricsList,
)
from wire.api.status import StatusDetails, StatusError, Unavailable, not_found

_Together = Sequence[Sequence[tuple[Plan, Evaluation]]]
"""The evaluations for cpu and for memory."""

UsageDocument = PodMetrics | PodMetricsList | NodeMetrics | NodeMetricsList

log = logging.getLogger(__name__)

_USAGE_AGE = telemetry.SAMPLE_AGE_SECONDS.labels("metrics.k8s.io")


class UsageAnswers:
    """Answers one request for what pods or nodes use, or raises `StatusError` that says why it cannot."""

    def __init__(
        self,
        *,
        evaluator: Evaluator,
        objects: ObjectNames,
        mapping: ResourceMapping,
        wide_plans: WidePlans | None,
        now: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._evaluator = evaluator
        self._wide_plans = wide_plans
        self._objects = objects
        self._mapping = mapping
        self._now = now
        self._monotonic = monotonic
        self._left_out: list[tuple[KubeObject, str]] = []
        """What has no usage, and why."""

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
        for subject, why in self._left_out:
            observer.usage_left_out(subject, why)
        observer.answered(values)
        now_seconds = self._now()
        if values:
            _USAGE_AGE.observe(self._monotonic() - min(v.sampled_seconds for v in values))
        of_nodes = request.resource == NODES
        if request.name is None:
            if of_nodes:
                return render.node_metrics_list(values, now_seconds)
            return render.pod_metrics_list(values, now_seconds)
        if not values:
            raise _no_usage(request, "; ".join(why for _, why in self._left_out))
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
        """One query for all namespaces where that is proven to be the same; otherwise there is a query per namespace."""
        by_namespace: dict[str, list[KubeObject]] = {}
        for subject in subjects:
            by_namespace.setdefault(subject.namespace, []).append(subject)
        queries = {
            namespace: self._query(resource, namespace, together, rules)
            for namespace, together in by_namespace.items()
        }
        if len(queries) == 1:
            [(namespace, query)] = queries.items()
            return [*await self._usage_in(query, by_namespace[namespace], rules, observer)]
        together = await self._of_namespaces(queries, observer) if queries else None
        if together:
            return [
                value
                for namespace, subjects_in in by_namespace.items()
                for value in self._usage_of(together, queries[namespace], subjects_in)
            ]
        found = await asyncio.gather(
            *(
                self._usage_in(queries[namespace], subjects_in, rules, observer, shared=False)
                for namespace, subjects_in in by_namespace.items()
            ),
            return_exceptions=True,
        )
        return _of_those_that_answered(dict(zip(by_namespace, found, strict=True)))

    def _query(
        self,
        resource: GroupResource,
        namespace: str,
        subjects: Sequence[KubeObject],
        rules: ResourceRules,
    ) -> UsageQuery:
        return usage_query(
            rules,
            resource=resource,
            namespace=namespace,
            names=[each.name for each in subjects],
            mapping=self._mapping,
        )

    async def _of_namespaces(
        self, queries: Mapping[str, UsageQuery], observer: AnswerObserver
    ) -> _Together | None:
        """cpu and memory of all namespaces; None when each namespace needs its own queries."""
        some = next(iter(queries.values()))
        if self._wide_plans is None or some.cpu_wide is None or some.memory_wide is None:
            return None
        both = (some.cpu_wide.query, some.memory_wide.query)
        found = await self._wide_plans.of_namespaces(
            both, sorted(queries), explains=observer.explains
        )
        if found is not None:
            observer.answered_together()
            for query in queries.values():
                observer.query_built(query)
        return found

    async def _usage_in(
        self,
        query: UsageQuery,
        subjects: Sequence[KubeObject],
        rules: ResourceRules,
        observer: AnswerObserver,
        *,
        shared: bool = True,
    ) -> Sequence[UsageValue]:
        """`shared`: a query that autoscalers of many namespaces share may answer."""
        names = [each.name for each in subjects]
        observer.query_built(query)
        lane = Lane.AUTOSCALER if shared else Lane.LIST
        lane = Lane.COMMAND if observer.explains else lane
        cpu_wide, memory_wide = (query.cpu_wide, query.memory_wide) if shared else (None, None)

        async def rows(plan: Plan, wide: Wide | None, *, rule: str) -> Evaluation:
            """Of a query that autoscalers of many namespaces share, or of its own."""
            if self._wide_plans:
                found = await self._wide_plans.evaluation_for(
                    wide, plan.query, names, several=True, explains=observer.explains
                )
                if found is not None:
                    observer.answered_together()
                    return found
            sending = Sending(lane=lane, counts_samples=wide is not None)
            found = await evaluated(self._evaluator, plan, sending, rule=rule)
            if self._wide_plans and not observer.explains:
                self._wide_plans.own_query_answered(wide, plan.query, found)
            return found

        cpu, memory = await asyncio.gather(
            rows(query.cpu, cpu_wide, rule=rules.cpu.path),
            rows(query.memory, memory_wide, rule=rules.memory.path),
        )
        observer.evaluated(query.cpu, query.cpu_rows, cpu)
        observer.evaluated(query.memory, query.memory_rows, memory)
        return usage_values(cpu, memory, query, subjects, self._leave_out)

    def _usage_of(
        self, together: _Together, query: UsageQuery, subjects: Sequence[KubeObject]
    ) -> Sequence[UsageValue]:
        """The usage of one namespace, out of the evaluations for all of them."""
        names = [each.name for each in subjects]
        cpu, memory = (
            _rows_in(evaluations, wide, names)
            for evaluations, wide in zip(together, (query.cpu_wide, query.memory_wide), strict=True)
            if wide
        )
        return usage_values(cpu, memory, query, subjects, self._leave_out)

    def _leave_out(self, subject: KubeObject, why: str) -> None:
        self._left_out.append((subject, why))


def _of_those_that_answered(
    found: Mapping[str, Sequence[UsageValue] | BaseException],
) -> list[UsageValue]:
    """The usage of all namespaces but those whose queries failed (GetPodMetrics of prometheus-adapter). Raises if all of them did."""
    failed = {name: each for name, each in found.items() if isinstance(each, BaseException)}
    for namespace, error in failed.items():
        if len(failed) == len(found) or not isinstance(error, StatusError | Unavailable):
            raise error
        log.warning("the list of all pods is without those of namespace %s: %s", namespace, error)
    return [
        value
        for values in found.values()
        if not isinstance(values, BaseException)
        for value in values
    ]


def _rows_in(
    evaluations: Sequence[tuple[Plan, Evaluation]], wide: Wide, names: Sequence[str]
) -> Evaluation:
    """The rows of one namespace, which is in one of the plans; the others have none of it."""
    found = [selected(evaluation, plan, wide.rows, names) for plan, evaluation in evaluations]
    return next((each for each in found if each.samples), found[0])


def _no_subject(resource: GroupResource, name: str) -> StatusError:
    """404 in the words of metrics-server, whose code prometheus-adapter uses: `pods`, but `node`."""
    kind, why = ("node", "") if resource == NODES else ("pods", ": no running pod has that name")
    return not_found(f'{kind} "{name}" not found{why}', StatusDetails(name=name, kind=kind))


def _no_usage(request: ResourceMetricRequest, why: str) -> StatusError:
    kind = "nodemetrics" if request.resource == NODES else "podmetrics"
    name = f"{request.namespace}/{request.name}" if request.namespace else request.name or ""
    return not_found(
        f'{kind}.metrics.k8s.io "{name}" not found: {why}',
        StatusDetails(name=name, group="metrics.k8s.io", kind=kind),
    )
