"""A request answered as always, with every step recorded: what `explain` shows.

The path to the answer is `Answers`' own. Only where it failed more is read: which series Prometheus has under the
names that a missing metric may have.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import unquote

from adapter.answer import ActiveConfiguration, Answers, MetricPaths
from adapter.diagnosis import findings, near_misses, unserved
from adapter.diagnosis.explanation import Explanation, Finding, ParsedRequest
from adapter.diagnosis.trace import Trace
from adapter.diagnosis.unserved import SearchedSeries
from adapter.documents.paths import VERSIONS
from adapter.model import (
    BackendRef,
    CustomMetricRequest,
    ExternalMetricRequest,
    GroupResource,
    Lane,
    MetricRequest,
    ResourceMapping,
    ResourceMetricRequest,
    Series,
    UnknownResource,
)
from adapter.ports import Catalog, QueryFailed, SeriesIncomplete, SeriesIndex
from adapter.promql.metric_query import equals
from wire.api import custom_metrics, external_metrics, resource_metrics
from wire.api.status import StatusError
from wire.serving.request_path import split_path

T = TypeVar("T")

SEEN_SECONDS = 600.0
"""A missing metric's series are searched this far back."""


class Explainer:
    """Explains any path of the metrics APIs. What is wrong with a request is a finding and never raised."""

    def __init__(
        self,
        answers: Answers,
        paths: MetricPaths,
        *,
        index: SeriesIndex,
        mapping: ResourceMapping,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`mapping` and `monotonic` are those of `answers`."""
        self._answers = answers
        self._paths = paths
        self._index = index
        self._mapping = mapping
        self._monotonic = monotonic
        self._searching = asyncio.Lock()

    async def explain(self, path: str) -> Explanation:
        """`path` as in a URL: escaped, with its query string."""
        trace, active = Trace(), self._answers.active
        request: MetricRequest | None = None
        refused: StatusError | None = None
        try:
            known = self._paths.of_url(path)
            request = known.request
            await self._answers.answer(known, trace, active)
        except StatusError as error:
            refused = error.in_full or error
            refused.__cause__, refused.__context__ = error.__cause__, error.__context__
        found = await self._findings(path, request, trace, refused, active)
        return Explanation(
            path=path,
            code=refused.code if refused else 200,
            message=refused.message if refused else "",
            ended_at=found[0].step if refused and found else "",
            request=_parsed(request) if request else None,
            rule=trace.rule(),
            objects=trace.objects(),
            queries=trace.queries(),
            is_shared=trace.is_shared,
            value_count=len(trace.values or ()),
            values=trace.served(),
            findings=tuple(found),
            similar=await self._similar(request, active.catalog)
            if trace.offer is None
            and isinstance(request, CustomMetricRequest | ExternalMetricRequest)
            else (),
        )

    async def _findings(
        self,
        path: str,
        request: MetricRequest | None,
        trace: Trace,
        refused: StatusError | None,
        active: ActiveConfiguration,
    ) -> list[Finding]:
        if request is None:
            return [_about_path(path, refused, active.groups)]
        if refused and isinstance(refused.__cause__, QueryFailed):
            failed = refused.__cause__
            return [
                findings.no_answer(
                    backend=failed.backend, cause=failed.cause, retryable=failed.retryable
                )
            ]
        if refused is None or trace.evaluations or trace.is_shared:
            remarks = self._about_values(request, trace, refused)
            return remarks or ([_unexplained(refused)] if refused else [])
        if isinstance(request, ResourceMetricRequest):
            return [_about_usage(trace, refused)]
        if trace.offer is None:
            return [await self._unserved(request, active.catalog)]
        if trace.names is None and isinstance(request, CustomMetricRequest):
            return [findings.objects_not_listed(refused.message)]
        if trace.names == () and isinstance(request, CustomMetricRequest):
            return [findings.no_objects(request)]
        return [findings.query_not_built(refused.__context__, refused.message)]

    def _about_values(
        self, request: MetricRequest, trace: Trace, refused: StatusError | None
    ) -> list[Finding]:
        if isinstance(request, ResourceMetricRequest):
            missing = trace.without_usage
            return [findings.usage_missing(request, missing)] if missing else []
        if trace.query is None or not trace.evaluations:
            return []
        evaluation = trace.evaluations[0].evaluation
        return findings.about_values(
            trace.query,
            evaluation,
            request,
            trace.judgements,
            is_refused=refused is not None,
            now_seconds=self._monotonic(),
        )

    async def _unserved(
        self, request: CustomMetricRequest | ExternalMetricRequest, catalog: Catalog
    ) -> Finding:
        resource: GroupResource | None = None
        if isinstance(request, CustomMetricRequest):
            try:
                resource = self._mapping.resource_for(request.resource)
            except UnknownResource:
                return findings.unknown_resource(request.resource)
        listed = catalog.listed()
        external = isinstance(request, ExternalMetricRequest)
        made = await self._search(
            lambda: near_misses.made_of(listed, request.metric, external=external)
        )
        searched = () if made else unserved.series_to_search(request, listed)
        return unserved.no_rule(
            request,
            resource=resource,
            listed=listed,
            made=made,
            gaps=catalog.gaps(),
            entries=catalog.entries_of(request.metric) if resource else (),
            mapping=self._mapping,
            seen=await self._seen(searched),
        )

    async def _similar(
        self, request: CustomMetricRequest | ExternalMetricRequest, catalog: Catalog
    ) -> tuple[str, ...]:
        """As discovery lists them: `pods/http_requests`, or the name of an external metric."""
        if isinstance(request, ExternalMetricRequest):
            metrics = catalog.external_metrics()
            return tuple(await self._search(lambda: near_misses.similar(request.metric, metrics)))
        entries = catalog.custom_entries()
        names = await self._search(
            lambda: near_misses.similar(request.metric, {each.metric for each in entries})
        )
        found = [
            f"{each.resource}/{each.metric}" for name in names for each in catalog.entries_of(name)
        ]
        return tuple(found[: near_misses.SIMILAR_MAX])

    async def _search(self, search: Callable[[], T]) -> T:
        """In a thread, since all series and metrics are searched, and one at a time, so that other threads have time to run."""
        async with self._searching:
            return await asyncio.to_thread(search)

    async def _seen(
        self, searched: Sequence[SearchedSeries]
    ) -> Mapping[SearchedSeries, Sequence[Series]]:
        """The series that exist; those of a backend that does not answer are missing."""
        found: dict[SearchedSeries, Sequence[Series]] = {}
        failed: set[BackendRef] = set()
        for backend, name in searched:
            if backend in failed:
                continue
            try:
                found[backend, name] = await self._index.series(
                    match=f"{{{equals('__name__', name)}}}",
                    backend=backend,
                    max_age_seconds=SEEN_SECONDS,
                    lane=Lane.COMMAND,
                )
            except SeriesIncomplete as error:
                found[backend, name] = error.series
            except QueryFailed:
                failed.add(backend)
        return found


def _about_path(path: str, refused: StatusError | None, groups: Sequence[str]) -> Finding:
    match split_path(unquote(path.partition("?")[0])):
        case ["apis", group, *_] if group not in VERSIONS:
            return findings.bad_request(
                f"{group} is not a metrics API: there are {', '.join(VERSIONS)}"
            )
        case ["apis", group, *_] if group not in groups:
            return findings.group_not_served(group)
        case ["apis", group, version, _, *_] if version in VERSIONS[group] and refused:
            return findings.bad_request(refused.message)
    return findings.bad_request(f"{path!r} is not a path of a metrics API")


def _about_usage(trace: Trace, refused: StatusError) -> Finding:
    if trace.names is None:
        return findings.objects_not_listed(refused.message)
    return findings.query_not_built(refused.__context__, refused.message)


def _unexplained(refused: StatusError) -> Finding:
    return Finding(
        step="value",
        reason=refused.reason or "Refused",
        message=refused.message,
        fix="See the message.",
    )


def _parsed(request: MetricRequest) -> ParsedRequest:
    if isinstance(request, CustomMetricRequest):
        return ParsedRequest(
            api=custom_metrics.GROUP,
            resource=str(request.resource),
            namespace=request.namespace,
            name=request.name,
            metric=request.metric,
            selector=str(request.selector),
            metric_selector=str(request.metric_selector),
        )
    if isinstance(request, ExternalMetricRequest):
        return ParsedRequest(
            api=external_metrics.GROUP,
            namespace=request.namespace,
            metric=request.metric,
            metric_selector=str(request.selector),
        )
    return ParsedRequest(
        api=resource_metrics.GROUP,
        resource=str(request.resource),
        namespace=request.namespace,
        name=request.name or "*",
        selector=str(request.selector),
    )
