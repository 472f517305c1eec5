"""The cost of a reconcile by the number of autoscalers and the kind of their metric, compared with kube-controller-manager.

As in `scaler_syncs`, every target must reach the replicas for its metric and keep them. Each autoscaler has a metric of its own. The
metrics are constant at first; then each has another value in every reconcile, so that every reconcile writes a status.
"""

from collections.abc import Mapping

from benchmarks.instruments.bench_cluster import bench_cluster
from benchmarks.instruments.figures import Result, Round
from benchmarks.instruments.metric_kinds import MetricKind
from benchmarks.measurement_options import Options, Report
from benchmarks.scaler_syncs import LOADLINE, UPSTREAM, Environment

AUTOSCALERS = (500, 2_000, 10_000)
PERIOD_SECONDS = 15.0
# Shorter than either program can keep: the rate is the maximum.
MAXIMUM_RATE_PERIOD_SECONDS = 0.1


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded if a controller does not reach the right replicas."""
    rounds: list[Round] = []
    counts = AUTOSCALERS if options.autoscalers is None else (options.autoscalers,)
    for count in counts:
        for kind in options.metrics:
            rounds += _measured(count, kind, options, report)
    return Result(
        benchmark="scaler_sizes",
        setting={"rounds": options.rounds, "seconds per turn": _seconds(options)},
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def _measured(count: int, kind: MetricKind, options: Options, report: Report) -> list[Round]:
    rounds: list[Round] = []
    with bench_cluster(count, kind=kind) as bench:
        environment = Environment(bench, count)
        report(f"logs: {environment.directory}; {count} autoscalers on {kind} metrics")
        for changing in (False, True):
            for period_seconds in (PERIOD_SECONDS, MAXIMUM_RATE_PERIOD_SECONDS):
                case = case_of(count, kind, period_seconds, changing=changing)
                for number in range(options.rounds):
                    for name in (UPSTREAM, LOADLINE):
                        figures = environment.turn(
                            name, period_seconds, _seconds(options), changing=changing
                        )
                        report(f"{case}: {name}: {shown(figures)}")
                        rounds.append(
                            Round(case=case, program=name, number=number, figures=figures)
                        )
    return rounds


def _seconds(options: Options) -> float:
    """At least one period, so that every autoscaler is reconciled."""
    return max(options.seconds, PERIOD_SECONDS)


def case_of(count: int, kind: str, period_seconds: float, *, changing: bool) -> str:
    """The name of a case."""
    rate = "every 15 s" if period_seconds == PERIOD_SECONDS else "maximum rate"
    return f"{count} on {'changing' if changing else 'constant'} {kind} metrics, {rate}"


def shown(figures: Mapping[str, float]) -> str:
    """All figures in a line."""
    return ", ".join(f"{name} {value:.3g}" for name, value in figures.items())
