"""From the recorded series of a metric to its value with other replica counts."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from kubectl_loadline.backtest.metric_kinds import MetricKind, NotReplayable, kind_of
from kubectl_loadline.backtest.queue_arrivals import Arrivals, arrivals_of
from kubectl_loadline.backtest.recording import COMPLETIONS, Recording, columns_of
from kubectl_loadline.backtest.regression import idle_use
from kubectl_loadline.backtest.series import Series
from scaler.algorithm.amounts import milli
from scaler.algorithm.observed import Pod, PodMetadata, PodSpec
from scaler.algorithm.pod_requests import pod_requests
from scaler.algorithm.unusable import MetricUnusable
from scaler.api.autoscaler import Autoscaler, MetricSourceType, MetricSpec, metrics_of
from scaler.api.schedules import FoundCalendar, ScheduleSpec
from scaler.extensions.formula.grammar import InvalidFormulaError, parse

DELAY_SECONDS = 60.0
# A target is usually 70% of what a pod can serve, and its responses become slow at 90%.
SERVED_PER_TARGET = 0.9 / 0.7
NO_READY_REPLICAS = (
    "no series has the number of ready replicas: give --query ready_replicas=PROMQL, install "
    "kube-state-metrics, or add the column ready_replicas to the file"
)


class ModelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user gave, by the name of a metric. `delays`: how late its value is, in seconds."""

    kinds: Mapping[str, str] = {}
    capacities: Mapping[str, float] = {}
    service_rates: Mapping[str, float] = {}
    delays: Mapping[str, float] = {}
    queries: Mapping[str, str] = {}
    pod_spec: PodSpec = PodSpec()


class MetricModel(msgspec.Struct, frozen=True, kw_only=True):
    """One series: `served` is the load that a ready replica can serve, in the unit of the load.

    `idle` is the part of a resource that each pod uses without any load. `is_demand`: whether the demand depends on it.
    """

    column: str
    kind: MetricKind
    values: Series
    load: Series
    served: float
    served_from: str
    delay_seconds: float = DELAY_SECONDS
    idle: float = 0.0
    is_demand: bool = True


class Models(msgspec.Struct, frozen=True, kw_only=True):
    """Every metric that can be replayed, by the name of its series; why the others cannot; and remarks."""

    by_column: Mapping[str, MetricModel]
    not_replayed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def main(self) -> MetricModel:
        """The first one, whose load is shown."""
        return next(iter(self.by_column.values()))


def models_of(
    present: Autoscaler,
    recording: Recording,
    options: ModelOptions,
    candidates: Sequence[Autoscaler] = (),
) -> Models:
    """Of all metrics of the current spec; what a replica serves, and so the demand, follows from its targets.

    Metrics that only candidates have are read, but do not change the demand.
    """
    found: dict[str, MetricModel] = {}
    missing: list[str] = []
    _add(present, found, missing, recording, options)
    if found:
        for each in candidates:
            _add(each, found, missing, recording, options)
    remarks: list[str] = []
    for column in found:
        found[column], remark = _with_idle(found[column], found, recording)
        remarks.extend(remark)
    return Models(
        by_column=found, not_replayed=tuple(dict.fromkeys(missing)), remarks=tuple(remarks)
    )


def _add(
    autoscaler: Autoscaler,
    found: dict[str, MetricModel],
    missing: list[str],
    recording: Recording,
    options: ModelOptions,
) -> None:
    before = set(found)
    for metric in metrics_of(autoscaler.spec):
        if metric.type == MetricSourceType.FORMULA:
            continue
        column = recording.column_of(metric)
        if column is None:
            missing.append(_without_series(metric))
        elif column in found and column not in before:
            missing.append(f"two metrics have the name {column}: set metrics[*].name")
        elif column not in found:
            made = _model(metric, column, recording, options)
            if isinstance(made, NotReplayable):
                missing.append(made.reason)
            else:
                found[column] = msgspec.structs.replace(made, is_demand=not before)


def _without_series(metric: MetricSpec) -> str:
    kind = kind_of(metric, "")
    if isinstance(kind, NotReplayable):
        return kind.reason
    return f"there is no recorded series for {' or '.join(columns_of(metric)) or metric.type}"


def replayable(
    autoscaler: Autoscaler,
    recording: Recording,
    models: Models,
    calendars: Sequence[FoundCalendar] = (),
) -> Autoscaler:
    """The autoscaler with what can be replayed: enforcing, without its status, suspension and candidate.

    A schedule whose calendar is not known is left out: the scaler would never scale down.
    Raises ValueError if no metric is left.
    """
    spec = autoscaler.spec
    known = [
        metric
        for metric in metrics_of(spec)
        if metric.type != MetricSourceType.FORMULA
        and recording.column_of(metric) in models.by_column
    ]
    names = {metric.name for metric in known}
    metrics = [
        metric
        for metric in metrics_of(spec)
        if metric in known or (metric.formula is not None and _inputs(metric) <= names)
    ]
    if not any(not metric.is_input for metric in metrics):
        reasons = "; ".join(models.not_replayed) or "all its metrics are only inputs"
        raise ValueError(f"no metric of {autoscaler.key} can be replayed: {reasons}")
    changed = msgspec.structs.replace(
        spec,
        metrics=tuple(metrics),
        mode="",
        suspend=None,
        candidate=None,
        schedules=tuple(
            each for each in spec.schedules or () if not _unknown_calendar(each, calendars)
        ),
    )
    return msgspec.structs.replace(autoscaler, spec=changed, status=None)


def _unknown_calendar(schedule: ScheduleSpec, calendars: Sequence[FoundCalendar]) -> str:
    """Why the entries of its calendar are not known; empty if they are, or it has no calendar."""
    reference = schedule.calendar_ref
    if reference is None:
        return ""
    for each in calendars:
        if each.reference == reference:
            return each.problem or ""
    return f"{reference.kind} {reference.name} is not known without a cluster"


def left_out(
    autoscaler: Autoscaler,
    recording: Recording,
    models: Models,
    calendars: Sequence[FoundCalendar] = (),
) -> Iterator[str]:
    """What the replay of this autoscaler does without, in words."""
    spec = autoscaler.spec
    kept = replayable(autoscaler, recording, models).spec.metrics or ()
    for metric in metrics_of(spec):
        if metric in kept:
            continue
        name = " or ".join(columns_of(metric)) or metric.type
        if metric.type == MetricSourceType.FORMULA:
            yield f"the formula {name}: an input of it cannot be replayed"
        else:
            yield f"the metric {name}"
    for schedule in spec.schedules or ():
        if problem := _unknown_calendar(schedule, calendars):
            yield f"the schedule {schedule.name}: {problem}"
    if spec.suspend is not None:
        yield "spec.suspend"
    if spec.candidate is not None:
        yield "spec.candidate: give it as a file with --candidate"


def _inputs(metric: MetricSpec) -> set[str]:
    try:
        return {
            each.name for each in parse(metric.formula.expression if metric.formula else "").metrics
        }
    except InvalidFormulaError:
        return set()


def _model(
    metric: MetricSpec, column: str, recording: Recording, options: ModelOptions
) -> MetricModel | NotReplayable:
    kind = kind_of(metric, options.kinds.get(column, ""), options.queries.get(column, ""))
    if isinstance(kind, NotReplayable):
        return kind
    values = recording.series[column]
    delay = options.delays.get(column, DELAY_SECONDS)
    if kind is MetricKind.QUEUE:
        return _queue(column, values, recording, options)
    if kind is MetricKind.SHARE:
        load = _times(values, recording.ready)
        if load is None:
            return NotReplayable(f"{column} is an average, and {NO_READY_REPLICAS}")
        values = load
    served, served_from = options.capacities.get(column), "as given"
    if served is None:
        served, served_from = _served(metric, options.pod_spec)
    if served is None or served <= 0:
        return NotReplayable(f"{column}: {served_from}")
    return MetricModel(
        column=column,
        kind=kind,
        values=values,
        load=_earlier(values, delay),
        served=served,
        served_from=served_from,
        delay_seconds=delay,
    )


def _queue(
    column: str, values: Series, recording: Recording, options: ModelOptions
) -> MetricModel | NotReplayable:
    if recording.ready is None:
        return NotReplayable(f"{column} is a queue, and {NO_READY_REPLICAS}")
    found = arrivals_of(
        values,
        recording.ready,
        completions=recording.series.get(column + COMPLETIONS),
        service_rate=options.service_rates.get(column),
    )
    if not isinstance(found, Arrivals):
        return NotReplayable(f"{column} is a queue: {found}")
    return MetricModel(
        column=column,
        kind=MetricKind.QUEUE,
        values=values,
        load=found.per_second,
        served=found.service_rate,
        served_from=found.rate_from,
        delay_seconds=options.delays.get(column, DELAY_SECONDS),
    )


def _served(metric: MetricSpec, pod_spec: PodSpec) -> tuple[float | None, str]:
    """What a ready replica serves by the target, and how that is known; None with the reason why it is not."""
    source = (
        metric.external
        or metric.object
        or metric.pods
        or metric.resource
        or metric.container_resource
    )
    if source is None:
        return None, "the metric has no source"
    words = "9/7 of the current target"
    for amount in (source.target.average_value, source.target.value):
        if amount is not None:
            return milli(amount) / 1000 * SERVED_PER_TARGET, words
    percent, resource = (
        source.target.average_utilization,
        metric.resource or metric.container_resource,
    )
    if percent is None or resource is None:
        return None, "its target has neither averageValue, value nor averageUtilization"
    if not pod_spec.containers:
        return (
            None,
            "the resource requests of its pods are unknown: add the target's manifest to the file of the autoscaler",
        )
    container = metric.container_resource.container if metric.container_resource else ""
    try:
        pod = Pod(metadata=PodMetadata(name="of the target"), spec=pod_spec)
        requests = pod_requests(
            [pod], resource=resource.name, container=container, pod_level_resources=True
        )
    except MetricUnusable as error:
        return None, str(error)
    return requests["of the target"] / 1000 * percent / 100 * SERVED_PER_TARGET, words


def _with_idle(
    model: MetricModel, models: Mapping[str, MetricModel], recording: Recording
) -> tuple[MetricModel, list[str]]:
    """Of a resource beside another load, the part that does not depend on that load."""
    if not model.column.endswith("cpu") or recording.ready is None:
        return model, []
    other = next(
        (each for each in models.values() if each is not model and each.kind is MetricKind.LOAD),
        None,
    )
    if other is None:
        return model, [
            f"{model.column}: no other load was recorded, so an idle pod is assumed to use none"
        ]
    idle, words = idle_use(model.values, other.values, recording.ready)
    if not 0 < idle < model.served:
        return model, [f"{model.column}: {words}"]
    busy = Series(
        start_unix_seconds=model.load.start_unix_seconds,
        step_seconds=model.load.step_seconds,
        values=tuple(
            None if value is None else max(0.0, value - idle * (recording.ready.at(at) or 0.0))
            for at, value in _timed(model.values)
        ),
    )
    changed = msgspec.structs.replace(
        model,
        idle=idle,
        values=msgspec.structs.replace(busy, start_unix_seconds=model.values.start_unix_seconds),
        load=busy,
        served=model.served - idle,
    )
    return changed, [f"{model.column}: {words}"]


def _times(average: Series, replicas: Series | None) -> Series | None:
    if replicas is None:
        return None
    values = tuple(
        None if value is None or (count := replicas.at(at)) is None else value * count
        for at, value in _timed(average)
    )
    return msgspec.structs.replace(average, values=values)


def _timed(series: Series) -> Iterator[tuple[int, float | None]]:
    for index, value in enumerate(series.values):
        yield series.start_unix_seconds + index * series.step_seconds, value


def _earlier(series: Series, seconds: float) -> Series:
    """What was read at a time was the load some seconds before."""
    steps = round(seconds / series.step_seconds) * series.step_seconds
    return msgspec.structs.replace(series, start_unix_seconds=series.start_unix_seconds - steps)
