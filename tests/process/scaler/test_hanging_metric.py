"""The real scaler on a real control plane, while the metric of every fifth autoscaler gets no response."""

import time

from benchmarks.instruments import metrics_api, scrape
from benchmarks.instruments.bench_cluster import bench_cluster
from benchmarks.scaler_hanging_metric import DELAY_BUCKETS, intervals, metric_of, quantile
from testbed.waiting import elapse

AUTOSCALERS, PERIOD_SECONDS, MEASURED_SECONDS = 300, 3.0, 15.0


def test_the_other_autoscalers_keep_their_period():
    with (
        bench_cluster(AUTOSCALERS, metric_of) as bench,
        bench.start_scaler(f"--sync-period={PERIOD_SECONDS:g}s") as program,
    ):
        elapse(2 * PERIOD_SECONDS)
        began = time.monotonic()
        before = scrape.by_label(program.port, DELAY_BUCKETS, "le", tls=bench.targets.tls)
        elapse(MEASURED_SECONDS)
        after = scrape.by_label(program.port, DELAY_BUCKETS, "le", tls=bench.targets.tls)
        arrivals = {
            selector: [at for at in times if at >= began]
            for selector, times in metrics_api.arrivals(bench.metrics_api_port).items()
        }
    assert len(arrivals) == AUTOSCALERS * 4 // 5, "each healthy metric is read"
    waits = intervals(arrivals, missing=MEASURED_SECONDS)
    # Generous for a busy machine: without deadlines and limits none was read again within 25 s.
    assert waits[len(waits) * 99 // 100] < 1.5 * PERIOD_SECONDS
    assert quantile(before, after, 0.99) < 1.1
