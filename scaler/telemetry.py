"""What the scaler tells Prometheus about itself.

The HPA controller's metrics (pkg/controller/podautoscaler/monitor), by its names, labels and
buckets, behind the prefix `loadline_scaler_` instead of `horizontal_pod_autoscaler_controller_`;
and a few of ours. One object per process part, so that tests have their own.
"""

import contextlib
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from scaler.model.decision import Action, ErrorClass
from scaler.model.derivation import MetricDerivation

# ExponentialBuckets(0.001, 2, 15)
_BUCKETS_SECONDS = tuple(0.001 * 2**step for step in range(15))


class Telemetry:
    """The metrics and the registry that they are in."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = registry or CollectorRegistry()
        outcome = ("action", "error")
        metric_outcome = (*outcome, "metric_type")
        self.reconciliations_total = Counter(
            "loadline_scaler_reconciliations_total",
            "Looks at an autoscaler, by what was done (scale_up, scale_down, none) and whose error it was (spec, internal, none).",
            outcome,
            registry=self.registry,
        )
        self.reconciliation_duration_seconds = Histogram(
            "loadline_scaler_reconciliation_duration_seconds",
            "How long a look at an autoscaler took.",
            outcome,
            buckets=_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.metric_computation_total = Counter(
            "loadline_scaler_metric_computation_total",
            "Metrics that were turned into a proposal, by what it proposes, whose error it was, and spec.metrics[*].type.",
            metric_outcome,
            registry=self.registry,
        )
        self.metric_computation_duration_seconds = Histogram(
            "loadline_scaler_metric_computation_duration_seconds",
            "How long it took to get one metric from its API, which is what takes time.",
            metric_outcome,
            buckets=_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.autoscalers = Gauge(
            "loadline_scaler_num_horizontal_pod_autoscalers",
            "Autoscalers in the scaler's care.",
            registry=self.registry,
        )
        self.desired_replicas = Gauge(
            "loadline_scaler_desired_replicas",
            "Replicas that an autoscaler wants.",
            ("namespace", "hpa_name"),
            registry=self.registry,
        )
        self.lateness_seconds = Histogram(
            "loadline_scaler_lateness_seconds",
            "How long after its time a look began; persistently more than a little means too few --concurrent-syncs.",
            buckets=_BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.crashes_total = Counter(
            "loadline_scaler_crashes_total",
            "Looks that ended in an unforeseen error; each one is a bug with a traceback in the log.",
            registry=self.registry,
        )
        self.leading = Gauge(
            "loadline_scaler_leading",
            "1 while this process is the one that scales.",
            registry=self.registry,
        )
        self.metric_questions_total = Counter(
            "loadline_scaler_metric_questions_total",
            "Questions to the metrics APIs, by group and by how they were answered (asked, shared).",
            ("group", "answer"),
            registry=self.registry,
        )

    def count_metrics(
        self,
        metrics: Sequence[MetricDerivation],
        durations_seconds: Sequence[float],
        replicas_before: int,
    ) -> None:
        """Count each metric by what it proposes against the status of the look before, as upstream does."""
        for metric, seconds in zip(metrics, durations_seconds, strict=False):
            failed = metric.proposal is None
            action = Action.NONE if failed else _action(metric.proposal or 0, replicas_before)
            error = ErrorClass.INTERNAL if failed else ErrorClass.NONE
            labels = (action.value, error.value, metric.type)
            self.metric_computation_total.labels(*labels).inc()
            self.metric_computation_duration_seconds.labels(*labels).observe(seconds)

    def forget(self, key: str) -> None:
        """Drop the gauge of an autoscaler that is gone; upstream keeps it for ever."""
        namespace, _, name = key.partition("/")
        with contextlib.suppress(KeyError):
            self.desired_replicas.remove(namespace, name)


def _action(replicas: int, replicas_before: int) -> Action:
    if replicas == replicas_before:
        return Action.NONE
    return Action.SCALE_UP if replicas > replicas_before else Action.SCALE_DOWN
