"""Events, log lines and memory of a scaler whose autoscalers all fail.

Every HorizontalPodAutoscaler is on a metric whose requests fail. kube-apiserver counts the writes of events.
"""

from pathlib import Path

from benchmarks.instruments import metrics_api, proc, scrape
from benchmarks.instruments.bench_cluster import BenchCluster, bench_cluster
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from testbed.programs import REPOSITORY
from testbed.waiting import elapse

AUTOSCALERS = 5000
PERIOD_SECONDS, MINUTES = 15.0, 3
LOADLINE, OTHER = "Loadline", "Loadline, other checkout"
REQUESTS, RECONCILES = "apiserver_request_total", "loadline_scaler_reconciliations_total"


def run(options: Options, report: Report) -> Result:
    """Measure every minute after the start."""
    count = options.autoscalers or AUTOSCALERS
    checkouts = {LOADLINE: REPOSITORY}
    if options.other_checkout is not None:
        checkouts[OTHER] = options.other_checkout
    rounds = []
    for program, checkout in checkouts.items():
        with bench_cluster(count, lambda _: metrics_api.FAILING) as bench:
            report(f"logs: {bench.directory}; {count} failing autoscalers")
            for minute, figures in enumerate(_minutes(bench, checkout), start=1):
                shown = ", ".join(f"{k} {v:,.0f}" for k, v in figures.items())
                report(f"{program}: minute {minute}: {shown}")
                rounds.append(
                    Round(case=f"minute {minute}", program=program, number=0, figures=figures)
                )
    return Result(
        benchmark="scaler_failing_autoscalers",
        setting={"autoscalers": count, "period s": PERIOD_SECONDS},
        reference=LOADLINE,
        rounds=tuple(rounds),
    )


def _minutes(bench: BenchCluster, checkout: Path) -> list[Figures]:
    flag = f"--sync-period={PERIOD_SECONDS:g}s"
    measured: list[Figures] = []
    with bench.start_scaler(flag, repository=checkout) as program:
        port = bench.cluster.api_port
        tls, pid = bench.targets.tls, program.process.pid

        def totals() -> dict[str, float]:
            creates, patches = (
                scrape.total(
                    port, REQUESTS, having=('resource="events"', f'verb="{verb}"'), tls=tls
                )
                for verb in ("POST", "PATCH")
            )
            return {
                "event_creates": creates,
                "event_patches": patches,
                "reconciles": scrape.total(program.port, RECONCILES, tls=tls),
                "log_lines": float(program.process.log().count("\n")),
                "cpu_seconds": proc.cpu_seconds(pid),
            }

        before = totals()
        for _ in range(MINUTES):
            elapse(60)
            after = totals()
            each = {name: after[name] - before[name] for name in after}
            measured.append({**each, "rss_mib": proc.rss_mib(pid)})
            before = after
    return measured
