"""Metrics of each autoscaler, as kube-state-metrics has them for HorizontalPodAutoscalers.

They are read from the watched objects when they are scraped, so they cost nothing between two scrapes. Ten thousand
autoscalers have 20 MB of text: one metric is made after the other, in a thread, from what the objects were at one moment.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import msgspec
from prometheus_client.core import GaugeMetricFamily

from scaler.algorithm.derivation import Derivation, value_for_target
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import (
    Autoscaler,
    AutoscalerStatus,
    ConditionStatus,
    metrics_of,
)
from scaler.api.metric_references import names_of
from wire.process.crashes import Crashes

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
        "proposed_replicas",
        "Replicas that the metrics of the last decision propose, before windows, policies and limits.",
        _of_decision(lambda decision: decision.proposed),
    ),
    (
        "status_current_replicas",
        "Replicas of the target at the last reconcile.",
        _of_status(lambda status: status.current_replicas),
    ),
    (
        "status_desired_replicas",
        "Desired replicas of the last decision.",
        _of_status(lambda status: status.desired_replicas),
    ),
)


_Samples = Iterable[tuple[tuple[str, ...], float]]
"""Label values besides those of the autoscaler, and the value."""


def _sample(number: Callable[[_Seen], Number], seen: _Seen) -> _Samples:
    value = number(seen)
    return () if value is None else (((), float(value)),)


def _conditions(seen: _Seen) -> _Samples:
    status = seen.autoscaler.status
    return (
        ((each.type,), float(each.status == ConditionStatus.TRUE))
        for each in (status.conditions if status else ()) or ()
    )


def _metric_values(seen: _Seen) -> _Samples:
    if seen.derivation is None:
        return
    names: set[str] = set()
    specs = metrics_of(seen.autoscaler.spec)
    # The spec may have been edited since the decision.
    for position, (spec, metric) in enumerate(zip(specs, seen.derivation.metrics, strict=False)):
        name = next(iter(names_of(spec)), "")
        if name in names:
            name = f"{name}#{position + 1}"
        names.add(name)
        value = value_for_target(metric)
        if value is not None:
            yield ((name,), value)


_LABELLED: tuple[tuple[str, str, str, Callable[[_Seen], _Samples]], ...] = (
    (
        "status_condition",
        "1 if the condition of an autoscaler is True, 0 if it is False or Unknown.",
        "condition",
        _conditions,
    ),
    (
        "metric_value",
        "Value of a metric in the last decision, in the unit of its target: percent, per pod or in total. If an earlier metric has the same name, its position is added to the label: NAME#2.",
        "metric",
        _metric_values,
    ),
)
"""Name, help, label and samples of those with one sample for each value of a label."""


class AutoscalerMetrics:
    """One sample for each autoscaler and figure, one for each condition, and one for each metric that it is scaled by."""

    def __init__(
        self,
        settings: Settings,
        autoscalers: Callable[[], Iterable[Autoscaler]],
        derivation: Callable[[str], Derivation | None],
        on_crash: Callable[[], object],
    ) -> None:
        """`autoscalers`: those that this process reconciles, none while it does not lead. `on_crash` is called for each sample
        that is missing because of a bug.
        """
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
        self._on_crash = on_crash
        self._crashes = Crashes(on_crash)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All samples of this moment, by metric. What is returned may be read in a thread."""
        seen = [_Seen(each, self._derivation(each.key)) for each in self._autoscalers()]
        keys = {each.autoscaler.key for each in seen}
        self._crashes.forget(lambda key: key not in keys)
        return self._families(seen)

    def _families(self, seen: list[_Seen]) -> Iterator[GaugeMetricFamily]:
        labels = self._kind.metric_labels
        for name, text, number in self._metrics:
            family = GaugeMetricFamily(_PREFIX + name, text, labels=labels)
            self._add(family, seen, partial(_sample, number))
            yield family
        for name, text, label, samples_of in _LABELLED:
            family = GaugeMetricFamily(_PREFIX + name, text, labels=(*labels, label))
            self._add(family, seen, samples_of)
            yield family

    def _add(
        self, family: GaugeMetricFamily, seen: list[_Seen], samples_of: Callable[[_Seen], _Samples]
    ) -> None:
        """Add the samples of each autoscaler. Of those that fail, which is a bug, only the first is logged."""
        has_failed = False
        for each in seen:
            try:
                for more_labels, value in samples_of(each):
                    family.add_metric([*self._label_values(each.autoscaler), *more_labels], value)
            except Exception as error:
                if has_failed:
                    self._on_crash()
                else:
                    self._crashes.note(f"metric {family.name}", each.autoscaler.key, error)
                has_failed = True

    def _label_values(self, autoscaler: Autoscaler) -> list[str]:
        metadata = autoscaler.metadata
        names = {"name": metadata.name, "hpa_name": metadata.name}
        values = {"namespace": metadata.namespace, "kind": self._kind.kind, **names}
        return [values[label] for label in self._kind.metric_labels]
