"""Ways to scale ahead of a load, each as an object that the scaler decides on.

The forecasts of others are a second External metric, of which the autoscaler takes the larger proposal, as Crane's EHPA
and KEDA's PredictKube have it. So all of them pass the same stabilization, rates and bounds.
"""

import math
from collections.abc import Callable, Mapping

import msgspec

from benchmarks.traces.replay import Readings
from benchmarks.traces.trace import STEP_SECONDS, Trace
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerSpec,
    CrossVersionObjectReference,
    ExternalMetricSource,
    MetricIdentifier,
    MetricSourceType,
    MetricSpec,
    MetricTarget,
    MetricTargetType,
)
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from wire.api.meta import ObjectMeta

DAY_SECONDS = 86400
MAX_REPLICAS = 200
CRANE_WINDOW_SECONDS = 3600
AWS_BUFFER_SECONDS = 300
# PHPA's documented example: alpha, beta and gamma of Holt-Winters.
PHPA_LEVEL, PHPA_TREND, PHPA_SEASON = 0.9, 0.9, 0.9

Ahead = Callable[[Trace, int], Readings]
"""The metric that is forecast, for a trace and a lead in seconds."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """A name, and how its autoscaler differs from a plain HPA."""

    name: str
    tolerance: float = 0.1
    forecast: ForecastSpec | None = None
    ahead: Ahead | None = None

    @property
    def settings(self) -> Settings:
        """With the tolerance of the policy."""
        return Settings(
            kind=LOAD_AUTOSCALERS,
            extensions=EXTENSIONS,
            sync_period_seconds=60.0,
            tolerance=self.tolerance,
        )

    def autoscaler(self, per_replica: float) -> Autoscaler:
        """One that keeps so much load per replica."""
        metrics = [_metric("load", per_replica)]
        if self.ahead is not None:
            metrics.append(_metric("ahead", per_replica))
        return Autoscaler(
            metadata=ObjectMeta(name="web", namespace="shop"),
            spec=AutoscalerSpec(
                scale_target_ref=CrossVersionObjectReference(kind="Deployment", name="web"),
                min_replicas=1,
                max_replicas=MAX_REPLICAS,
                metrics=tuple(metrics),
                forecast=self.forecast,
            ),
        )

    def others(self, trace: Trace, lead_seconds: int) -> Mapping[str, Readings]:
        """The values of the metric that is forecast."""
        return {} if self.ahead is None else {"ahead": self.ahead(trace, lead_seconds)}


def _metric(name: str, per_replica: float) -> MetricSpec:
    target = MetricTarget(
        type=MetricTargetType.AVERAGE_VALUE, average_value=f"{round(per_replica * 1000)}m"
    )
    return MetricSpec(
        type=MetricSourceType.EXTERNAL,
        name=name,
        external=ExternalMetricSource(metric=MetricIdentifier(name=name), target=target),
    )


def seasonal_naive(trace: Trace, lead_seconds: int) -> Readings:
    """The highest load of the same minutes yesterday."""
    return lambda _, seen: _highest(trace, seen - DAY_SECONDS, lead_seconds)


def crane_window(trace: Trace, lead_seconds: int) -> Readings:  # noqa: ARG001 - the window is Crane's
    """Crane's DSP with the estimator maxValue: the highest of the next hour over the last three days."""

    def value(_: MetricSpec, seen: float) -> float | None:
        days = [
            _highest(trace, seen - day * DAY_SECONDS, CRANE_WINDOW_SECONDS) for day in (1, 2, 3)
        ]
        return max((each for each in days if each is not None), default=None)

    return value


def aws_hourly(trace: Trace, lead_seconds: int) -> Readings:
    """The mean of the hour on the days before, for the hour now and the one that begins within five minutes."""

    def hour(seen: float) -> float | None:
        start = math.floor(seen / 3600) * 3600
        days = [_mean(trace, start - day * DAY_SECONDS, 3600) for day in range(1, 15)]
        known = [each for each in days if each is not None]
        return math.fsum(known) / len(known) if known else None

    def value(_: MetricSpec, seen: float) -> float | None:
        both = (hour(seen), hour(seen + max(lead_seconds, AWS_BUFFER_SECONDS)))
        return max((each for each in both if each is not None), default=None)

    cached: dict[int, float | None] = {}

    def kept(metric: MetricSpec, seen: float) -> float | None:
        minute = int(seen // STEP_SECONDS)
        if minute not in cached:
            cached[minute] = value(metric, seen)
        return cached[minute]

    return kept


def holt_winters(trace: Trace, lead_seconds: int) -> Readings:
    """PHPA's Holt-Winters with a season of a day, additive; `lead_seconds` ahead instead of one interval."""
    season = DAY_SECONDS // STEP_SECONDS
    ahead = lead_seconds // STEP_SECONDS
    loads = [each or 0.0 for each in trace.loads]
    if len(loads) < 2 * season:
        return lambda *_: None
    level = math.fsum(loads[:season]) / season
    trend = 0.0
    seasonal = [each - level for each in loads[:season]]
    forecasts: list[float | None] = [None] * season
    for index in range(season, len(loads)):
        value, place = loads[index], index % season
        before = level
        level = PHPA_LEVEL * (value - seasonal[place]) + (1 - PHPA_LEVEL) * (level + trend)
        trend = PHPA_TREND * (level - before) + (1 - PHPA_TREND) * trend
        seasonal[place] = PHPA_SEASON * (value - level) + (1 - PHPA_SEASON) * seasonal[place]
        forecasts.append(max(0.0, level + ahead * trend + seasonal[(index + ahead) % season]))
    return lambda _, seen: _indexed(trace, forecasts, seen)


def _indexed(trace: Trace, values: list[float | None], seen: float) -> float | None:
    index = int((seen - trace.start_unix_seconds) // STEP_SECONDS)
    return values[index] if 0 <= index < len(values) else None


def _window(trace: Trace, start: float, seconds: int) -> list[float]:
    first = int((start - trace.start_unix_seconds) // STEP_SECONDS)
    last = first + seconds // STEP_SECONDS + 1
    return [each for each in trace.loads[max(0, first) : max(0, last)] if each is not None]


def _highest(trace: Trace, start: float, seconds: int) -> float | None:
    return max(_window(trace, start, seconds), default=None)


def _mean(trace: Trace, start: float, seconds: int) -> float | None:
    known = _window(trace, start, seconds)
    return math.fsum(known) / len(known) if known else None


def policies(lead_seconds: int) -> list[Policy]:
    """The plain HPA first: the others are compared with it."""
    forecast = ForecastSpec(metric="load", mode="Add", lead_seconds=lead_seconds)
    return [
        Policy(name="HPA"),
        Policy(name="HPA, tolerance 0", tolerance=0.0),
        Policy(name="seasonal naive", ahead=seasonal_naive),
        Policy(name="Crane DSP, highest of 1 h", ahead=crane_window),
        Policy(name="Holt-Winters (PHPA)", ahead=holt_winters),
        Policy(name="hourly floor (AWS)", ahead=aws_hourly),
        Policy(name="Loadline forecast", forecast=forecast),
        Policy(name="Loadline forecast, tolerance 0", tolerance=0.0, forecast=forecast),
    ]
