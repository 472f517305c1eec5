"""Metrics of each autoscaler, as kube-state-metrics has them for HorizontalPodAutoscalers.

They are read from the watched objects when they are scraped, so they cost nothing between two scrapes. Ten thousand
autoscalers have 20 MB of text: one metric is made after the other, in a thread, from what the objects were at one moment.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from prometheus_client.core import GaugeMetricFamily

from scaler.algorithm.derivation import Derivation
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import Autoscaler, AutoscalerStatus, ConditionStatus

_PREFIX = "loadline_scaler_autoscaler_"
Number = float | None
"""None if there is no such sample."""


class _Seen(msgspec.Struct, frozen=True):
    """An autoscaler at one moment, and its last decision."""

    autoscaler: Autoscaler
    derivation: Derivation | None


def _of_status(value: Callable[[AutoscalerStatus], int]) -> Callable[[_Seen], Number]:
    return lambda seen: None if seen.autoscaler.status is None else value(seen.autoscaler.status)


def _of_decision(value: Callable[[Derivation], int | None]) -> Callable[[_Seen], Number]:
    return lambda seen: None if seen.derivation is None else value(seen.derivation)


def _of_step(extension: str, value: Callable[[Any], Number]) -> Callable[[_Seen], Number]:
    def number(seen: _Seen) -> Number:
        step = None if seen.derivation is None else seen.derivation.steps.get(extension)
        return None if step is None else value(step)

    return number


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
)


class AutoscalerMetrics:
    """One sample per autoscaler and metric, and one per condition."""

    def __init__(
        self,
        settings: Settings,
        autoscalers: Callable[[], Iterable[Autoscaler]],
        derivation: Callable[[str], Derivation | None],
    ) -> None:
        """`autoscalers`: those that this process reconciles, none while it does not lead."""
        self._kind = settings.kind
        self._metrics = (
            *_METRICS,
            *(
                (gauge.name, gauge.help, _of_step(each.name, gauge.value))
                for each in settings.extensions
                for gauge in each.gauges
            ),
        )
        self._autoscalers = autoscalers
        self._derivation = derivation

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All samples of this moment, by metric. What is returned may be read in a thread."""
        seen = [_Seen(each, self._derivation(each.key)) for each in self._autoscalers()]
        return self._families(seen)

    def _families(self, seen: list[_Seen]) -> Iterator[GaugeMetricFamily]:
        labels = self._kind.metric_labels
        for name, text, number in self._metrics:
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
