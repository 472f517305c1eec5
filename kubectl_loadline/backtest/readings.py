"""What the metrics APIs would return at other replica counts: the readings of the simulated target."""

from kubectl_loadline.backtest.metric_kinds import MetricKind
from kubectl_loadline.backtest.metric_models import MetricModel, Models
from kubectl_loadline.backtest.pods import SimulatedPods
from kubectl_loadline.backtest.recording import Recording
from scaler.algorithm.readings import (
    ComputedFrom,
    ExternalValues,
    MetricFailed,
    ObjectValue,
    PodSample,
    PodSamples,
    Reading,
)
from scaler.api.autoscaler import MetricSourceType, MetricSpec

NO_SAMPLE = MetricFailed("nothing was recorded at this time")
NOT_REPLAYED = MetricFailed("the metric cannot be replayed")


class SimulatedReadings:
    """A callable for `loop.decisions`. Times must ascend, because queues grow and shrink from one to the next."""

    def __init__(self, recording: Recording, models: Models, pods: SimulatedPods) -> None:
        self._recording = recording
        self._models = models.by_column
        self._pods = pods
        self._queues = {
            column: _Queue(model, pods)
            for column, model in models.by_column.items()
            if model.kind is MetricKind.QUEUE
        }
        # Of each metric object: its model. The specs of a replay live as long as the replay.
        self._of_metric: dict[int, MetricModel | None] = {}

    def __call__(self, metric: MetricSpec, now_unix_seconds: float) -> Reading:
        """The reading of a metric. Pods are ready as of the time at which it was measured."""
        if metric.type == MetricSourceType.FORMULA:
            return ComputedFrom()
        key = id(metric)
        if key not in self._of_metric:
            self._of_metric[key] = self._models.get(self._recording.column_of(metric) or "")
        model = self._of_metric[key]
        if model is None:
            return NOT_REPLAYED
        total = self._total(model, now_unix_seconds)
        if total is None:
            return NO_SAMPLE
        if metric.type == MetricSourceType.EXTERNAL:
            return ExternalValues((round(total * 1000),))
        if metric.type == MetricSourceType.OBJECT:
            return ObjectValue(round(total * 1000))
        return self._of_pods(model, total, now_unix_seconds)

    def _total(self, model: MetricModel, now: float) -> float | None:
        """The value of the whole target; of a share, the average."""
        if model.kind is MetricKind.QUEUE:
            return self._queues[model.column].length_at(now)
        value = model.values.at(now)
        if value is None:
            return None
        ready = self._pods.ready_at(now - model.delay_seconds)
        if model.kind is MetricKind.SHARE:
            return value / ready if ready else None
        return value + model.idle * ready

    def _of_pods(self, model: MetricModel, total: float, now: float) -> Reading:
        measured_at = now - model.delay_seconds
        ready = self._pods.ready_at(measured_at)
        if not ready:
            return PodSamples({})
        # The delay is half of the window, and how old the newest sample is.
        sample = PodSample(
            value_milli=round(total / (1 if model.kind is MetricKind.SHARE else ready) * 1000),
            sampled_at_unix_seconds=measured_at,
            window_seconds=model.delay_seconds,
        )
        return PodSamples(dict.fromkeys(self._pods.names_ready_since(measured_at), sample))


class _Queue:
    """Its length grows with the recorded arrivals and shrinks with what the simulated pods complete."""

    def __init__(self, model: MetricModel, pods: SimulatedPods) -> None:
        self._model = model
        self._pods = pods
        self._length: float | None = None
        self._known_at = 0

    def length_at(self, now: float) -> float | None:
        step = self._model.load.step_seconds
        if self._length is None:
            self._length, self._known_at = self._model.values.at(now), int(now)
        while self._length is not None and self._known_at + step <= now:
            arrived = self._model.load.at(self._known_at)
            if arrived is not None:
                completed = self._pods.ready_at(self._known_at) * self._model.served
                self._length = max(0.0, self._length + (arrived - completed) * step)
            self._known_at += step
        # Nothing is read while nothing was recorded.
        return None if self._model.values.at(now) is None else self._length
