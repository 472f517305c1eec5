"""PURE  The load over time, and the workloads with their autoscalers."""

import math

import msgspec

NAMESPACE = "demo"
MIN_SECONDS = 90.0
SYNC_SECONDS = 3  # of the HPA controller and of Loadline's scaler
RATE_WINDOW_SECONDS = 10
SCRAPE_SECONDS = 1.0


class Wave(msgspec.Struct, frozen=True, kw_only=True):
    """Load over time: quiet, a smooth rise, a peak, a smooth fall, quiet. Times are fractions of the duration."""

    quiet: float
    peak: float
    rises_at: float
    peaks_at: float
    falls_at: float
    ends_at: float

    def at(self, part: float) -> float:
        """The load at `part` (0 to 1) of the duration."""
        if part <= self.falls_at:
            height = _smooth((part - self.rises_at) / (self.peaks_at - self.rises_at))
        else:
            height = 1 - _smooth((part - self.falls_at) / (self.ends_at - self.falls_at))
        return self.quiet + (self.peak - self.quiet) * height


def _smooth(x: float) -> float:
    """A smooth step from 0 to 1."""
    return (1 - math.cos(math.pi * min(max(x, 0.0), 1.0))) / 2


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """One Deployment, its load and its autoscaler."""

    name: str
    kind: str  # of its autoscaler
    controller: str  # that scales it, as shown to the user
    load: Wave
    load_unit: str
    metric: str  # its name in the metrics API
    metric_title: str
    target_per_replica: float
    min_replicas: int
    max_replicas: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The whole demo."""

    seconds: float

    @property
    def stabilization_seconds(self) -> int:
        """The scale-down stabilization window, short enough for the quiet end of the demo."""
        return max(5, round(self.seconds / 16))

    @property
    def shortened(self) -> str:
        """What is shorter than in a cluster, so that a few minutes show everything."""
        return (
            f"shorter than usual: a reconcile every {SYNC_SECONDS} s (default 15 s), a scrape every {SCRAPE_SECONDS:g} s, rate() over "
            f"{RATE_WINDOW_SECONDS} s, a scale-down stabilization window of {self.stabilization_seconds} s (default 300 s)"
        )


WEB = Workload(
    name="web",
    kind="HorizontalPodAutoscaler",
    controller="stock kube-controller-manager",
    load=Wave(quiet=60, peak=470, rises_at=0.08, peaks_at=0.38, falls_at=0.48, ends_at=0.72),
    load_unit="requests/s",
    metric="http_requests_per_second",
    metric_title="requests/s per pod",
    target_per_replica=50,
    min_replicas=2,
    max_replicas=12,
)
WORKER = Workload(
    name="worker",
    kind="LoadAutoscaler",
    controller="Loadline's scaler",
    load=Wave(quiet=15, peak=150, rises_at=0.14, peaks_at=0.34, falls_at=0.50, ends_at=0.66),
    load_unit="messages/s",
    metric="queue_length",
    metric_title="messages waiting per replica",
    target_per_replica=200,
    min_replicas=1,
    max_replicas=10,
)
WORKLOADS = (WEB, WORKER)
DRAINED_PER_REPLICA = 20.0
"""Messages per second that one replica of `worker` handles."""
