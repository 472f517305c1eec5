"""Healthy autoscalers while a metric of others hangs.

Every fifth HorizontalPodAutoscaler is on a metric whose requests get no response. The metrics API records when the
requests of the others arrive: their intervals must stay at the sync period.
"""

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.instruments import metrics_api, proc, scrape
from benchmarks.instruments.bench_cluster import BenchCluster, bench_cluster
from benchmarks.instruments.figures import Figures, Result, Round, percentile
from benchmarks.instruments.metric_kinds import METRIC
from benchmarks.measurement_options import Options, Report
from testbed.programs import REPOSITORY
from testbed.waiting import elapse

AUTOSCALERS, HANGING_SHARE = 1000, 5
PERIOD_SECONDS = 15.0
WARM_UP_SECONDS = 2 * PERIOD_SECONDS
MEASURED_SECONDS = 6 * PERIOD_SECONDS
LOADLINE, OTHER = "Loadline", "Loadline, other checkout"
DELAY_BUCKETS = "loadline_scaler_reconcile_delay_seconds_bucket"


def metric_of(number: int) -> str:
    """Every fifth autoscaler is on the hanging metric."""
    return metrics_api.HANGING if number % HANGING_SHARE == 0 else METRIC


def run(options: Options, report: Report) -> Result:
    """Measure. Raises AssertionError if a healthy autoscaler is not reconciled at all."""
    count = options.autoscalers or AUTOSCALERS
    checkouts = {LOADLINE: REPOSITORY}
    if options.other_checkout is not None:
        checkouts[OTHER] = options.other_checkout
    rounds = []
    with bench_cluster(count, metric_of) as bench:
        report(f"logs: {bench.directory}; {count} autoscalers, 1 of {HANGING_SHARE} hangs")
        for program, checkout in checkouts.items():
            figures = _measured(bench, count, checkout)
            report(f"{program}: " + ", ".join(f"{k} {v:.3g}" for k, v in figures.items()))
            rounds.append(Round(case="1 of 5 hangs", program=program, number=0, figures=figures))
    return Result(
        benchmark="scaler_hanging_metric",
        setting={"autoscalers": count, "period s": PERIOD_SECONDS, "seconds": MEASURED_SECONDS},
        reference=LOADLINE,
        rounds=tuple(rounds),
    )


def _measured(bench: BenchCluster, count: int, checkout: Path) -> Figures:
    with bench.start_scaler(f"--sync-period={PERIOD_SECONDS:g}s", repository=checkout) as program:
        elapse(WARM_UP_SECONDS)
        tls = bench.targets.tls
        before = scrape.by_label(program.port, DELAY_BUCKETS, "le", tls=tls)
        began, cpu = time.monotonic(), proc.cpu_seconds(program.process.pid)
        elapse(MEASURED_SECONDS)
        after = scrape.by_label(program.port, DELAY_BUCKETS, "le", tls=tls)
        arrivals = {
            selector: [at for at in times if at >= began]
            for selector, times in metrics_api.arrivals(bench.metrics_api_port).items()
        }
        healthy = sum(metric_of(number) == METRIC for number in range(count))
        waits = intervals(arrivals, missing=MEASURED_SECONDS)
        return {
            "healthy_autoscalers": healthy,
            "healthy_reconciles": sum(map(len, arrivals.values())),
            "expected_reconciles": healthy * MEASURED_SECONDS / PERIOD_SECONDS,
            "interval_p50_seconds": percentile(waits, 50),
            "interval_p99_seconds": percentile(waits, 99),
            "interval_max_seconds": waits[-1],
            **({"delay_p99_seconds": quantile(before, after, 0.99)} if after else {}),
            "cores": (proc.cpu_seconds(program.process.pid) - cpu) / MEASURED_SECONDS,
            "rss_mib": proc.rss_mib(program.process.pid),
        }


def intervals(arrivals: Mapping[str, Sequence[float]], *, missing: float) -> list[float]:
    """The sorted seconds between requests of one autoscaler; `missing` for one without two requests."""
    return sorted(
        interval
        for times in arrivals.values()
        for interval in (
            [later - earlier for earlier, later in itertools.pairwise(times)] or [missing]
        )
    )


def quantile(before: Mapping[str, float], after: Mapping[str, float], share: float) -> float:
    """The upper bound of the histogram bucket with this share of the observations in between."""
    counts = sorted((float(le), after[le] - before.get(le, 0.0)) for le in after)
    total = counts[-1][1]
    return next(le for le, reached in counts if reached >= share * total)
