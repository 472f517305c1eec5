"""`python -m benchmarks [BENCHMARK ...]`: measure and print a table, or JSON with `--output json`."""

import argparse
import sys
from pathlib import Path

from benchmarks import (
    adapter_ages,
    adapter_different_requests,
    adapter_discovery,
    adapter_growth,
    adapter_hostile_clients,
    adapter_requests,
    adapter_wave,
    forecast,
    reaction,
    scaler_failing_autoscalers,
    scaler_hanging_metric,
    scaler_shards,
    scaler_sizes,
    scaler_start,
    scaler_syncs,
    scaler_with_adapter,
    schedules,
)
from benchmarks.instruments.figures import document, table
from benchmarks.instruments.metric_kinds import MetricKind
from benchmarks.measurement_options import Options

BENCHMARKS = {
    "adapter_requests": adapter_requests,
    "adapter_different_requests": adapter_different_requests,
    "adapter_wave": adapter_wave,
    "adapter_ages": adapter_ages,
    "adapter_growth": adapter_growth,
    "adapter_discovery": adapter_discovery,
    "adapter_hostile_clients": adapter_hostile_clients,
    "forecast": forecast,
    "reaction": reaction,
    "scaler_syncs": scaler_syncs,
    "scaler_shards": scaler_shards,
    "scaler_sizes": scaler_sizes,
    "scaler_start": scaler_start,
    "scaler_with_adapter": scaler_with_adapter,
    "scaler_hanging_metric": scaler_hanging_metric,
    "scaler_failing_autoscalers": scaler_failing_autoscalers,
    "schedules": schedules,
}
# They take half an hour and more.
ONLY_BY_NAME = {"scaler_shards", "scaler_sizes", "scaler_start"}


def main() -> int:
    """Exit code 1, with a traceback, if a response is wrong: its cost would mean nothing."""
    default = Options()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "benchmark",
        nargs="*",
        metavar="BENCHMARK",
        help=f"{', '.join(BENCHMARKS)} (default: all but {', '.join(ONLY_BY_NAME)})",
    )
    parser.add_argument("--output", choices=("table", "json"), default="table")
    parser.add_argument("--json", type=Path, help="file for the results as JSON, besides the table")
    parser.add_argument("--rounds", type=int, default=default.rounds)
    parser.add_argument(
        "--seconds", type=float, default=default.seconds, help="duration of each turn"
    )
    parser.add_argument("--autoscalers", type=int, help="number of them (default: per benchmark)")
    parser.add_argument("--series", type=int, nargs="+", default=[], help="of adapter_discovery")
    parser.add_argument(
        "--programs",
        nargs="+",
        default=[],
        help="to measure, of the benchmarks with several of Loadline's (default: all)",
    )
    parser.add_argument(
        "--loadline-flags",
        nargs="+",
        default=[],
        metavar="FLAG",
        help="further flags of loadline-adapter: '--loadline-flags=--metrics-freshness=1s'",
    )
    parser.add_argument("--other-checkout", type=Path, help="of Loadline, to compare with")
    parser.add_argument(
        "--traces", type=Path, help="directory of recorded loads, for the benchmark forecast"
    )
    parser.add_argument("--concurrency", type=int, nargs="+", default=default.concurrency)
    parser.add_argument(
        "--metrics",
        nargs="+",
        choices=list(MetricKind),
        default=default.metrics,
        metavar="KIND",
        help=f"of scaler_sizes: {', '.join(MetricKind)} (default: all)",
    )
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.benchmark) - BENCHMARKS.keys()):
        parser.error(f"unknown benchmark: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    options = _options(arguments)
    results = []
    if "forecast" in arguments.benchmark and arguments.traces is None:
        parser.error("forecast needs --traces DIRECTORY: CSV files with Unix seconds and load")
    only_by_name = ONLY_BY_NAME if arguments.traces else {*ONLY_BY_NAME, "forecast"}
    for name in arguments.benchmark or (each for each in BENCHMARKS if each not in only_by_name):
        results.append(BENCHMARKS[name].run(options, _report))
        if arguments.json:
            arguments.json.write_bytes(document(results))
        if arguments.output == "table":
            print(f"\n{table(results[-1])}\n", flush=True)
    if arguments.output == "json":
        print(document(results).decode())
    return 0


def _options(arguments: argparse.Namespace) -> Options:
    return Options(
        rounds=arguments.rounds,
        seconds=arguments.seconds,
        autoscalers=arguments.autoscalers,
        other_checkout=arguments.other_checkout,
        traces=arguments.traces,
        concurrency=tuple(arguments.concurrency),
        metrics=tuple(MetricKind(each) for each in arguments.metrics),
        series=tuple(arguments.series),
        programs=tuple(arguments.programs),
        loadline_flags=tuple(arguments.loadline_flags),
    )


def _report(progress: str) -> None:
    print(progress, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
