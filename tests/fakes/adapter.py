"""One fake per port of the adapter: prepared responses, recorded requests."""

from collections.abc import Mapping, Sequence

from adapter.model import (
    FOR_AUTOSCALER,
    BackendRef,
    Evaluation,
    Gap,
    GroupResource,
    GroupVersionKind,
    KubeObject,
    Lane,
    ListedRule,
    MetricEntry,
    Offer,
    Plan,
    Sample,
    Sending,
    Series,
    UnknownResource,
)
from adapter.ports import QueryFailed
from adapter.promql.row_selection import indexed
from wire.api.labels import Selector


class Kind:
    """One resource of a `FakeMapping`: its names, kind and scope."""

    def __init__(
        self,
        plural: str,
        singular: str,
        kind: str,
        *,
        group: str = "",
        version: str = "v1",
        namespaced: bool = True,
    ) -> None:
        self.resource = GroupResource(plural, group)
        self.singular = singular
        self.kind = GroupVersionKind(group=group, version=version, kind=kind)
        self.namespaced = namespaced

    def is_named(self, resource: GroupResource) -> bool:
        """Whether `resource` names it, by plural or singular; the group may be omitted or shortened."""
        named = resource.resource in (self.resource.resource, self.singular)
        return named and self.resource.group.startswith(resource.group)


CORE_KINDS: Sequence[Kind] = (
    Kind("pods", "pod", "Pod"),
    Kind("namespaces", "namespace", "Namespace", namespaced=False),
    Kind("nodes", "node", "Node", namespaced=False),
    Kind("persistentvolumes", "persistentvolume", "PersistentVolume", namespaced=False),
    Kind("services", "service", "Service"),
    Kind("deployments", "deployment", "Deployment", group="apps"),
    Kind("daemonsets", "daemonset", "DaemonSet", group="apps"),
    Kind("jobs", "job", "Job", group="batch"),
    Kind("ingresses", "ingress", "Ingress", group="networking.k8s.io"),
)


class FakeMapping:
    """A `ResourceMapping` over a fixed list of kinds."""

    def __init__(self, kinds: Sequence[Kind] = CORE_KINDS) -> None:
        self.kinds = list(kinds)

    def resource_for(self, resource: GroupResource) -> GroupResource:
        return self._find(resource).resource

    def singular(self, resource: str) -> str:
        return next((k.singular for k in self.kinds if k.resource.resource == resource), resource)

    def kind_for(self, resource: GroupResource) -> GroupVersionKind:
        return self._find(resource).kind

    def is_namespaced(self, resource: GroupResource) -> bool:
        return self._find(resource).namespaced

    def _find(self, resource: GroupResource) -> Kind:
        for kind in self.kinds:
            if kind.is_named(resource):
                return kind
        raise UnknownResource(resource)


def vector(*rows: tuple[Mapping[str, str], float], at_seconds: float = 1_000.0) -> Evaluation:
    """An instant vector evaluated at one moment."""
    return Evaluation(
        samples=tuple(Sample(labels, value, at_seconds) for labels, value in rows),
        evaluated_at_seconds=at_seconds,
    )


class FakePrometheus:
    """A `Prometheus` with prepared responses by the text of the query or selector.

    A query for the age of samples finds none that is older than its response.
    """

    def __init__(
        self,
        answers: Mapping[str, Evaluation | QueryFailed] | None = None,
        *,
        series: Mapping[str, Sequence[Series] | Exception] | None = None,
        otherwise: Evaluation | None = None,
    ) -> None:
        self.answers = dict(answers or {})
        self.known_series = dict(series or {})
        self.otherwise = otherwise
        self.requested: list[Plan] = []
        self.matched: list[tuple[str, str, float]] = []

    async def evaluate(self, plan: Plan, sending: Sending = FOR_AUTOSCALER) -> Evaluation:
        self.requested.append(plan)
        of_ages = vector() if "timestamp({" in plan.query else None
        answer = self.answers.get(plan.query, of_ages or self.otherwise)
        if answer is None:
            raise QueryFailed(
                backend=plan.backend.name,
                query=plan.query,
                cause="the fake has no answer",
                retryable=False,
            )
        if isinstance(answer, QueryFailed):
            raise answer
        return indexed(answer, plan.key_labels)

    async def series(
        self,
        *,
        match: str,
        backend: BackendRef,
        max_age_seconds: float,
        lane: Lane = Lane.AUTOSCALER,
    ) -> Sequence[Series]:
        self.matched.append((match, backend, max_age_seconds))
        found = self.known_series.get(match, ())
        if isinstance(found, Exception):
            raise found
        return found

    async def label_sets(
        self, *, match: str, backend: BackendRef, max_age_seconds: float
    ) -> Sequence[Mapping[str, str]]:
        found = await self.series(match=match, backend=backend, max_age_seconds=max_age_seconds)
        return [{"__name__": each.name, **dict.fromkeys(each.labels, "x")} for each in found]


class FakeObjects:
    """An `ObjectNames` over a fixed list of objects; every pod counts as running."""

    def __init__(self, objects: Mapping[GroupResource, Sequence[KubeObject]]) -> None:
        self.known = dict(objects)

    async def objects(
        self, resource: GroupResource, *, namespace: str, selector: Selector
    ) -> Sequence[KubeObject]:
        if resource not in self.known:
            raise UnknownResource(resource)
        found = [
            each
            for each in self.known[resource]
            if namespace in ("", each.namespace) and selector.matches(each.labels)
        ]
        return sorted(found, key=lambda each: (each.namespace, each.name))

    async def running_pods(self, *, namespace: str, selector: Selector) -> Sequence[KubeObject]:
        return await self.objects(GroupResource("pods"), namespace=namespace, selector=selector)


class FakeCatalog:
    """A `Catalog` of prepared offers."""

    def __init__(
        self,
        custom: Mapping[MetricEntry, Offer] | None = None,
        external: Mapping[str, Offer] | None = None,
        *,
        gaps: Sequence[Gap] = (),
        listed: Sequence[ListedRule] = (),
    ) -> None:
        self.custom_offers = dict(custom or {})
        self.external_offers = dict(external or {})
        self.known_gaps = list(gaps)
        self.known_listed = list(listed)

    def custom_entries(self) -> Sequence[MetricEntry]:
        return sorted(self.custom_offers)

    def entries_of(self, metric: str) -> Sequence[MetricEntry]:
        return [each for each in sorted(self.custom_offers) if each.metric == metric]

    def external_metrics(self) -> Sequence[str]:
        return sorted(self.external_offers)

    def custom(self, entry: MetricEntry) -> Offer | None:
        return self.custom_offers.get(entry)

    def external(self, metric: str) -> Offer | None:
        return self.external_offers.get(metric)

    def gaps(self) -> Sequence[Gap]:
        return sorted(self.known_gaps, key=lambda gap: gap.rule)

    def listed(self) -> Sequence[ListedRule]:
        return self.known_listed
