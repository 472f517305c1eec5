"""`python -m benchmarks [question ...]`: measure and print a table, or JSON with `--output json`."""

import argparse
import sys

from benchmarks import adapter_requests, scaler_syncs
from benchmarks.instruments.figures import document, table
from benchmarks.measurement_options import Options

BENCHMARKS = {"adapter_requests": adapter_requests, "scaler_syncs": scaler_syncs}


def main() -> int:
    """Exit code 1 (with a traceback) when an answer is wrong: then nothing is worth measuring."""
    default = Options()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "question", nargs="*", metavar="question", help=f"of {', '.join(BENCHMARKS)} (all)"
    )
    parser.add_argument("--output", choices=("table", "json"), default="table")
    parser.add_argument("--rounds", type=int, default=default.rounds)
    parser.add_argument("--seconds", type=float, default=default.seconds, help="of each turn")
    parser.add_argument("--autoscalers", type=int, default=default.autoscalers)
    parser.add_argument("--concurrency", type=int, nargs="+", default=default.concurrency)
    asked = parser.parse_args()
    if unknown := sorted(set(asked.question) - BENCHMARKS.keys()):
        parser.error(f"unknown: {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    options = Options(
        rounds=asked.rounds,
        seconds=asked.seconds,
        autoscalers=asked.autoscalers,
        concurrency=tuple(asked.concurrency),
    )
    results = []
    for name in asked.question or BENCHMARKS:
        results.append(BENCHMARKS[name].run(options, _report))
        if asked.output == "table":
            print(f"\n{table(results[-1])}\n", flush=True)
    if asked.output == "json":
        print(document(results).decode())
    return 0


def _report(progress: str) -> None:
    print(progress, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
