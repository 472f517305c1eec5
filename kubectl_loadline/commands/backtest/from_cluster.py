"""An autoscaler of the cluster for a backtest: its spec and target, the queries of the adapter, and Prometheus."""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence

import msgspec

from kubectl_loadline.backtest.recording import columns_of
from kubectl_loadline.cluster.adapter_program import (
    adapter_arguments,
    adapter_output,
    cluster_arguments,
)
from kubectl_loadline.cluster.autoscaler_name import AutoscalerName, short_name
from kubectl_loadline.cluster.connecting import Session, Unreachable, connected, existing
from kubectl_loadline.cluster.flags import cluster_of
from kubectl_loadline.cluster.manifests import Manifest, Target
from kubectl_loadline.cluster.programs import adapter_of
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from kubectl_loadline.cluster.scaler_settings import settings_for
from kubectl_loadline.recorded_series.found import RecordedSeries
from kubectl_loadline.recorded_series.of_metrics import (
    Explained,
    explanations_in,
    read_explanations,
    sends_credentials,
    series_of_metrics,
)
from kubectl_loadline.recorded_series.prometheus import SeriesUnavailable
from kubectl_loadline.recorded_series.queries import described
from kubectl_loadline.terminal.progress import ProgressLine
from kubectl_loadline.terminal.screen import print_note
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler
from scaler.api.schedules import FoundCalendar
from scaler.cluster.schedules.calendars import read_calendars
from wire.api.status import StatusError, Unavailable
from wire.kube.client import decoded
from wire.kube.mapper import NoMatchError, RestMapper


class FromCluster(msgspec.Struct, frozen=True, kw_only=True):
    """What was read. `settings` are those of the running scaler, by the kind of the autoscaler."""

    present: Manifest
    history: RecordedSeries
    settings: Mapping[str, Settings]
    calendars: tuple[FoundCalendar, ...]


async def read_from_cluster(
    given: argparse.Namespace, named: AutoscalerName, candidates: Sequence[Manifest]
) -> FromCluster:
    """Read everything for the autoscaler and for the metrics of the candidates.

    Raises `StatusError`, `Unavailable`, `Unreachable`, and ValueError for a metric without a query.
    """
    async with connected(cluster_of(given)) as session:
        kind, namespace, body = await existing(session, named)
        autoscaler = decoded(body, Autoscaler, what=kind.kind)
        present = Manifest(
            kind=kind, autoscaler=autoscaler, pod_spec=await _pod_spec(session, autoscaler)
        )
        settings = {}
        kinds = (kind, *(each.kind for each in candidates))
        for each in {each.kind: each for each in kinds}.values():
            settings[each.kind], problem = await settings_for(session, each, namespace, "")
            if problem:
                print_note("backtest", f"default algorithm flags are assumed: {problem}")
        explained = await _explained(session, given, present)
        return FromCluster(
            present=present,
            history=await _history(session, given, present, explained, candidates),
            settings=settings,
            calendars=await _calendars(session, autoscaler, candidates),
        )


async def _history(
    session: Session,
    given: argparse.Namespace,
    present: Manifest,
    explained: Sequence[Explained],
    candidates: Sequence[Manifest],
) -> RecordedSeries:
    if given.history:
        return series_of_metrics(present, given, candidates=candidates)
    try:
        async with prometheus_url(
            session,
            url=given.prometheus_url,
            adapter=given.program,
            sends_credentials=sends_credentials(given),
        ) as url:
            # In a thread, because the client is synchronous, and the forwarded port needs the event loop.
            return await asyncio.to_thread(
                series_of_metrics,
                present,
                given,
                explained,
                url,
                candidates,
                session.connection.server,
            )
    except SeriesUnavailable as error:
        raise Unreachable(str(error)) from error


async def _calendars(
    session: Session, present: Autoscaler, candidates: Sequence[Manifest]
) -> tuple[FoundCalendar, ...]:
    """Those of the candidates, too, in the namespace of the present autoscaler, whose place they would take."""
    all_specs = (present.spec, *(each.autoscaler.spec for each in candidates))
    schedules = tuple(schedule for each in all_specs for schedule in each.schedules or ())
    spec = msgspec.structs.replace(present.spec, schedules=schedules)
    return await read_calendars(session.client, msgspec.structs.replace(present, spec=spec))


async def _pod_spec(session: Session, autoscaler: Autoscaler) -> PodSpec | None:
    """That of the target's template; None if it cannot be read."""
    target, namespace = autoscaler.spec.scale_target_ref, autoscaler.metadata.namespace
    mapper = RestMapper(session.client)
    await mapper.refresh()
    group, slash, _ = target.api_version.partition("/")
    try:
        resource = mapper.resources_for_kind(group if slash else "", target.kind)[0]
        body = await session.client.get(f"{resource.path(namespace)}/{target.name}")
    except (NoMatchError, StatusError) as error:
        print_note("backtest", f"the requests of the pods are unknown: {error}")
        return None
    return decoded(body, Target, what=target.kind).pod_spec


async def _explained(
    session: Session, given: argparse.Namespace, present: Manifest
) -> Sequence[Explained]:
    """The queries of the running adapter, where they are not given."""
    if given.history or given.explanation is not None:
        return read_explanations(given.explanation)
    autoscaler, queries = present.autoscaler, dict(given.query)
    if all(queries.keys() & columns_of(metric) for _, metric in described(autoscaler)):
        return ()
    name = f"{short_name(present.kind)}/{autoscaler.metadata.namespace}/{autoscaler.metadata.name}"
    try:
        adapter = await adapter_of(session, given.program)
        async with adapter_arguments(
            session, adapter, skips_verification=given.insecure_skip_tls_verify
        ) as (_, arguments):
            flags = [*arguments, *cluster_arguments(cluster_of(given))]
            return await _explain(name, flags, session.progress)
    except (Unreachable, Unavailable, StatusError) as error:
        print_note("backtest", f"without the queries of the adapter, because {error}")
        return ()


async def _explain(name: str, flags: Sequence[str], progress: ProgressLine) -> Sequence[Explained]:
    arguments = [name, "--output=json", *flags]
    _, printed, messages = await adapter_output("explain", arguments, progress=progress)
    sys.stderr.write(messages.decode())
    try:
        return explanations_in(printed)
    except ValueError as error:
        raise Unreachable(f"the adapter does not explain {name}") from error
