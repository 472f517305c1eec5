"""Metrics of each autoscaler, as kube-state-metrics has them for HorizontalPodAutoscalers.

They are read from the watched objects when they are scraped, so they cost nothing between two scrapes.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from scaler.model.autoscaler import Autoscaler, ConditionStatus
from scaler.model.derivation import CandidateStep, Derivation, ForecastStep
from scaler.model.kinds import WatchedKind

_PREFIX = "loadline_scaler_autoscaler_"
_HELP = {
    "spec_min_replicas": "spec.minReplicas of an autoscaler.",
    "spec_max_replicas": "spec.maxReplicas of an autoscaler.",
    "effective_min_replicas": "Lower limit of the last decision.",
    "effective_max_replicas": "Upper limit of the last decision.",
    "status_current_replicas": "Replicas of the target at the last reconcile.",
    "status_desired_replicas": "Replicas that the last decision wants.",
    "forecast_replicas": "Replicas with the forecast of the last decision, also in a dry run.",
    "forecast_added_replicas": "Replicas that only the forecast of the last decision wants, also in a dry run.",
    "forecast_alone_replica_minutes": "Replica-minutes of the last 24 hours without the forecast.",
    "forecast_added_replica_minutes": "Replica-minutes of the last 24 hours that the forecast added, or would have added.",
    "forecast_needed_replica_minutes": "Added replica-minutes of the last 24 hours that the load needed.",
    "candidate_weight_percent": "Share of the difference that the candidate decides.",
    "candidate_replicas": "Replicas that the candidate of the last decision wants, also as a shadow.",
    "candidate_spec_replicas": "Replicas that the spec of the last decision wants without its candidate.",
}


class AutoscalerMetrics(Collector):
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
        """All samples, by metric."""
        labels = self._kind.metric_labels
        families = {
            name: GaugeMetricFamily(_PREFIX + name, text, labels=labels)
            for name, text in _HELP.items()
        }
        conditions = GaugeMetricFamily(
            _PREFIX + "status_condition",
            "1 if the condition of an autoscaler is True, 0 if it is False or Unknown.",
            labels=(*labels, "condition"),
        )
        for autoscaler in self._autoscalers():
            values = self._label_values(autoscaler)
            for name, value in _numbers(autoscaler, self._derivation(autoscaler.key)):
                families[name].add_metric(values, value)
            for condition in (autoscaler.status.conditions if autoscaler.status else ()) or ():
                is_true = condition.status == ConditionStatus.TRUE
                conditions.add_metric([*values, condition.type], float(is_true))
        yield from families.values()
        yield conditions

    def _label_values(self, autoscaler: Autoscaler) -> list[str]:
        metadata = autoscaler.metadata
        names = {"name": metadata.name, "hpa_name": metadata.name}
        values = {"namespace": metadata.namespace, "kind": self._kind.kind, **names}
        return [values[label] for label in self._kind.metric_labels]


def _numbers(autoscaler: Autoscaler, derivation: Derivation | None) -> Iterator[tuple[str, float]]:
    spec, status = autoscaler.spec, autoscaler.status
    yield "spec_min_replicas", float(1 if spec.min_replicas is None else spec.min_replicas)
    yield "spec_max_replicas", float(spec.max_replicas)
    if status is not None:
        yield "status_current_replicas", float(status.current_replicas)
        yield "status_desired_replicas", float(status.desired_replicas)
    if derivation is not None and derivation.forecast is not None:
        yield from _forecast(derivation.forecast)
    if derivation is not None and derivation.candidate is not None:
        yield from _candidate(derivation.candidate)
    if derivation is not None and derivation.min_replicas is not None:
        yield "effective_min_replicas", float(derivation.min_replicas)
    if derivation is not None and derivation.max_replicas is not None:
        yield "effective_max_replicas", float(derivation.max_replicas)


def _forecast(step: ForecastStep) -> Iterator[tuple[str, float]]:
    if step.floor is not None:
        yield "forecast_replicas", float(step.after)
        yield "forecast_added_replicas", float(step.after - step.before)
    yield "forecast_alone_replica_minutes", step.day.alone
    yield "forecast_added_replica_minutes", step.day.added
    yield "forecast_needed_replica_minutes", step.day.useful


def _candidate(step: CandidateStep) -> Iterator[tuple[str, float]]:
    yield "candidate_weight_percent", float(step.weight_percent)
    yield "candidate_spec_replicas", float(step.spec_desired)
    if step.desired is not None:
        yield "candidate_replicas", float(step.desired)
