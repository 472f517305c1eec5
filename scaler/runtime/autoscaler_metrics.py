"""Metrics of each autoscaler, as kube-state-metrics has them for HorizontalPodAutoscalers.

They are read from the watched objects when they are scraped, so they cost nothing between two scrapes. Ten thousand
autoscalers have 20 MB of text: one metric is made after the other, in a thread, from what the objects were at one moment.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec
from prometheus_client.core import GaugeMetricFamily

from scaler.algorithm.derivation import CandidateStep, Derivation, ForecastStep
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus, ConditionStatus
from scaler.api.kinds import WatchedKind

_PREFIX = "loadline_scaler_autoscaler_"
Number = float | None
"""None if there is no such sample."""


class _Seen(msgspec.Struct, frozen=True):
    """An autoscaler at one moment, and its last decision."""

    autoscaler: Autoscaler
    derivation: Derivation | None

    @property
    def forecast(self) -> ForecastStep | None:
        return None if self.derivation is None else self.derivation.forecast

    @property
    def candidate(self) -> CandidateStep | None:
        return None if self.derivation is None else self.derivation.candidate


def _of_status(value: Callable[[AutoscalerStatus], int]) -> Callable[[_Seen], Number]:
    return lambda seen: None if seen.autoscaler.status is None else value(seen.autoscaler.status)


def _of_decision(value: Callable[[Derivation], int | None]) -> Callable[[_Seen], Number]:
    return lambda seen: None if seen.derivation is None else value(seen.derivation)


def _of_forecast(value: Callable[[ForecastStep], Number]) -> Callable[[_Seen], Number]:
    return lambda seen: None if seen.forecast is None else value(seen.forecast)


def _of_candidate(value: Callable[[CandidateStep], Number]) -> Callable[[_Seen], Number]:
    return lambda seen: None if seen.candidate is None else value(seen.candidate)


def _min_replicas(seen: _Seen) -> Number:
    given = seen.autoscaler.spec.min_replicas
    return 1 if given is None else given


_METRICS: tuple[tuple[str, str, Callable[[_Seen], Number]], ...] = (
    ("spec_min_replicas", "spec.minReplicas of an autoscaler.", _min_replicas),
    (
        "spec_max_replicas",
        "spec.maxReplicas of an autoscaler.",
        lambda seen: seen.autoscaler.spec.max_replicas,
    ),
    (
        "effective_min_replicas",
        "Lower limit of the last decision.",
        _of_decision(lambda decision: decision.min_replicas),
    ),
    (
        "effective_max_replicas",
        "Upper limit of the last decision.",
        _of_decision(lambda decision: decision.max_replicas),
    ),
    (
        "status_current_replicas",
        "Replicas of the target at the last reconcile.",
        _of_status(lambda status: status.current_replicas),
    ),
    (
        "status_desired_replicas",
        "Replicas that the last decision wants.",
        _of_status(lambda status: status.desired_replicas),
    ),
    (
        "forecast_replicas",
        "Replicas with the forecast of the last decision, also in a dry run.",
        _of_forecast(lambda step: None if step.floor is None else step.after),
    ),
    (
        "forecast_added_replicas",
        "Replicas that only the forecast of the last decision wants, also in a dry run.",
        _of_forecast(lambda step: None if step.floor is None else step.after - step.before),
    ),
    (
        "forecast_alone_replica_minutes",
        "Replica-minutes of the last 24 hours without the forecast.",
        _of_forecast(lambda step: step.day.alone),
    ),
    (
        "forecast_added_replica_minutes",
        "Replica-minutes of the last 24 hours that the forecast added, or would have added.",
        _of_forecast(lambda step: step.day.added),
    ),
    (
        "forecast_needed_replica_minutes",
        "Added replica-minutes of the last 24 hours that the load needed.",
        _of_forecast(lambda step: step.day.useful),
    ),
    (
        "candidate_weight_percent",
        "Share of the difference that the candidate decides.",
        _of_candidate(lambda step: step.weight_percent),
    ),
    (
        "candidate_replicas",
        "Replicas that the candidate of the last decision wants, also as a shadow.",
        _of_candidate(lambda step: step.desired),
    ),
    (
        "candidate_spec_replicas",
        "Replicas that the spec of the last decision wants without its candidate.",
        _of_candidate(lambda step: step.spec_desired),
    ),
)


class AutoscalerMetrics:
    """One sample per autoscaler and metric, and one per condition."""

    def __init__(
        self,
        kind: WatchedKind,
        autoscalers: Callable[[], Iterable[Autoscaler]],
        derivation: Callable[[str], Derivation | None],
    ) -> None:
        """`autoscalers`: those that this process reconciles, none while it does not lead."""
        self._kind = kind
        self._autoscalers = autoscalers
        self._derivation = derivation

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All samples of this moment, by metric. What is returned may be read in a thread."""
        seen = [_Seen(each, self._derivation(each.key)) for each in self._autoscalers()]
        return self._families(seen)

    def _families(self, seen: list[_Seen]) -> Iterator[GaugeMetricFamily]:
        labels = self._kind.metric_labels
        for name, text, number in _METRICS:
            family = GaugeMetricFamily(_PREFIX + name, text, labels=labels)
            for each in seen:
                if (value := number(each)) is not None:
                    family.add_metric(self._label_values(each.autoscaler), float(value))
            yield family
        conditions = GaugeMetricFamily(
            _PREFIX + "status_condition",
            "1 if the condition of an autoscaler is True, 0 if it is False or Unknown.",
            labels=(*labels, "condition"),
        )
        for each in seen:
            values, status = self._label_values(each.autoscaler), each.autoscaler.status
            for condition in (status.conditions if status else ()) or ():
                is_true = condition.status == ConditionStatus.TRUE
                conditions.add_metric([*values, condition.type], float(is_true))
        yield conditions

    def _label_values(self, autoscaler: Autoscaler) -> list[str]:
        metadata = autoscaler.metadata
        names = {"name": metadata.name, "hpa_name": metadata.name}
        values = {"namespace": metadata.namespace, "kind": self._kind.kind, **names}
        return [values[label] for label in self._kind.metric_labels]
