"""`kubectl loadline backtest`: what other settings would have done with the recorded load of an autoscaler.

The recorded series are replayed through the decisions of the running scaler. Nothing is written to the cluster.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec

from scaler.backtest.comparison import Played, Policy, Range, Scenario
from scaler.backtest.loop import Decided
from scaler.backtest.metric_models import ModelOptions, models_of
from scaler.backtest.recording import Recording
from scaler.backtest.report import OnDecision, Report, Request, backtest
from scaler.config import add_algorithm_flags, settings_of
from scaler.history.files import write_csv
from scaler.history.found import History, StartUp
from scaler.history.prometheus import HistoryUnavailable
from scaler.model.extensions import ForecastMode
from scaler.model.observed import PodSpec
from scaler.plugin.backtest_options import add_history_flags, add_model_flags, price, seconds
from scaler.plugin.backtest_text import text_of
from scaler.plugin.manifests import Manifest, read_manifest
from scaler.plugin.recorded_history import history_of
from wire.command_line.parsing import FlagParser

OK: Final = 0
UNREADABLE: Final = 1
WRONG: Final = 2

LEARNING_SECONDS: Final = 3 * 86400
DEFAULT_START_UP: Final = StartUp(60.0, 60.0)


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; returns 1 when history cannot be read, 2 when the command line or a file is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    if given.autoscaler is None:
        flags.error("give the autoscaler with --autoscaler=FILE")
    try:
        return _run(given)
    except ValueError as error:
        problem, code = str(error), WRONG
    except (HistoryUnavailable, OSError) as error:
        problem, code = str(error), UNREADABLE
    print(f"kubectl loadline backtest: {problem}", file=sys.stderr)
    return code


def _run(given: argparse.Namespace) -> int:
    present = read_manifest(given.autoscaler)
    history = history_of(present, given)
    if given.save_history:
        write_csv(given.save_history, history.recording.series)
    request = request_of(given, present, history)
    with _decisions_to(given.decisions) as on_decision:
        report, played = backtest(request, on_decision)
    print(printed(report, given.output))
    draw(given, request, report, played)
    return OK


def printed(report: Report, output: str) -> str:
    """As text, or as indented JSON."""
    if output == "json":
        return msgspec.json.format(msgspec.json.encode(report), indent=2).decode()
    return text_of(report)


def request_of(given: argparse.Namespace, present: Manifest, history: History) -> Request:
    """What to compare. Raises ValueError if the history does not fit."""
    manifests = [("present spec", present)]
    manifests += ((Path(file).stem, read_manifest(Path(file))) for file in given.candidate)
    pod_spec = present.pod_spec or PodSpec()
    models = models_of(present.autoscaler, history.recording, _options(given, history, pod_spec))
    if not models.by_column:
        reasons = "; ".join(models.not_replayed)
        raise ValueError(f"no metric of {present.autoscaler.key} can be replayed: {reasons}")
    start_up, words = _start_up(given.start_up, history.start_up)
    return Request(
        policies=tuple(
            Policy(
                name=name,
                autoscaler=each.autoscaler,
                settings=settings_of(given, each.kind),
            )
            for name, each in manifests
        ),
        scenario=Scenario(
            recording=history.recording,
            models=models,
            range=range_of(given, history.recording, [each for _, each in manifests]),
            pod_spec=pod_spec,
        ),
        start_ups=tuple(dict.fromkeys((start_up.median_seconds, start_up.p95_seconds))),
        start_up_from=words,
        price_per_replica_hour=given.price,
    )


def range_of(
    given: argparse.Namespace, recording: Recording, manifests: Sequence[Manifest]
) -> Range:
    """The time for which metrics are recorded, within `--since` and `--until`; raises ValueError if there is none."""
    step = recording.step_seconds
    known = [each for each in recording.series.values() if each.values]
    if not known:
        raise ValueError("the history is empty: check the queries, --since and --until")
    end = max(each.end_unix_seconds for each in known)
    if given.until is not None:
        end = min(end, int(given.until) // step * step)
    start = min(each.start_unix_seconds for each in known)
    if given.since is not None:
        start = max(start, int(end - given.since) // step * step)
    if end - start < 10 * step:
        raise ValueError(f"the history has only {max(0, end - start)} s: it must have 10 steps")
    learning = given.learn
    if learning is None:
        forecasts = [each.autoscaler.spec.forecast for each in manifests]
        learns = any(each is not None and each.mode != ForecastMode.OFF for each in forecasts)
        learning = LEARNING_SECONDS if learns else 0
    if start + learning >= end:
        raise ValueError(
            f"the history of {end - start} s ends before the forecast has learned for {learning:g} s: use a longer --since or a shorter --learn"
        )
    return Range(
        start_unix_seconds=start,
        end_unix_seconds=end,
        step_seconds=step,
        scored_from_unix_seconds=start + int(learning),
    )


def draw(
    given: argparse.Namespace, request: Request, report: Report, played: Sequence[Played]
) -> None:
    """The pictures and the page, if they are wanted. Raises ValueError without the libraries for them."""
    if given.plots is None and given.html is None:
        return
    # Only this needs matplotlib.
    from scaler.plugin.backtest_pictures import frontier_of, pictures

    drawn = pictures(request, report, played, frontier_of(request))
    if given.plots is not None:
        given.plots.mkdir(parents=True, exist_ok=True)
        for name, png in drawn.items():
            (given.plots / f"{name}.png").write_bytes(png)
    if given.html is not None:
        from scaler.plugin.backtest_page import page

        given.html.write_text(page(report, drawn), "utf-8")


def _options(given: argparse.Namespace, history: History, pod_spec: PodSpec) -> ModelOptions:
    return ModelOptions(
        kinds=dict(given.kind),
        capacities=dict(given.capacity),
        service_rates=dict(given.service_rate),
        delays={**history.delays, **dict(given.delay)},
        queries=history.queries,
        pod_spec=pod_spec,
    )


def _start_up(given: StartUp | None, found: StartUp | None) -> tuple[StartUp, str]:
    chosen = given or found or DEFAULT_START_UP
    words = (
        f"{chosen.median_seconds:g} s"
        if chosen.median_seconds == chosen.p95_seconds
        else f"{chosen.median_seconds:g} s (median) and {chosen.p95_seconds:g} s (95th percentile)"
    )
    if given is not None:
        return chosen, f"{words}, as given"
    if found is not None:
        return chosen, f"{words}, as recorded by kube-state-metrics"
    return chosen, f"{words}, an assumption: give it with --start-up"


@contextmanager
def _decisions_to(file: Path | None) -> Iterator[OnDecision]:
    """Write each decision to a file as a line of JSON; and show the progress on a terminal."""
    with ExitStack() as stack:
        lines = None if file is None else stack.enter_context(file.open("wb"))
        yield _on_decision(lines)


def _on_decision(lines: IO[bytes] | None) -> OnDecision:
    encode: Callable[[object], bytes] = msgspec.json.Encoder().encode

    def write(policy: Policy, start_up_seconds: float, decided: Decided) -> None:
        if lines is not None:
            line = {
                "policy": policy.name,
                "startUpSeconds": start_up_seconds,
                "decision": decided.derivation,
            }
            lines.write(encode(line) + b"\n")

    return write


def parser() -> FlagParser:
    """The flags of `backtest`."""
    parser = FlagParser(
        prog="kubectl loadline backtest",
        usage="%(prog)s [flags]",
        description="Replay recorded load through the decisions of the scaler, and compare the present spec with candidates.",
        examples=[
            (
                "From files, without a cluster",
                "kubectl loadline backtest --autoscaler=web.yaml --history=web.csv --candidate=web-60.yaml",
            ),
        ],
        notes="Exit code 0: the comparison is printed. 1: the history cannot be read. 2: a flag or a file is wrong.",
    )
    parser.add_file(
        "--autoscaler",
        help="manifest of the autoscaler; with that of its target for utilization metrics",
    )
    parser.add_argument(
        "--candidate", metavar="FILE", action="append", default=[],
        help="manifest of an autoscaler to compare with; may be repeated",
    )  # fmt: skip
    add_history_flags(parser)
    add_model_flags(parser)
    parser.add_argument(
        "--learn", type=seconds, metavar="DURATION",
        help="time at the start that is not scored (default: 3d with a forecast, else none)",
    )  # fmt: skip
    parser.add_argument("--price", type=price, metavar="AMOUNT", help="price of a replica-hour")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", metavar="FORMAT", help="text or json"
    )  # fmt: skip
    parser.add_file(
        "--decisions",
        help="write every decision to this file: a line of JSON for each, in the form of `why`",
    )
    parser.add_file("--plots", help="write the pictures to this directory, as PNG")
    parser.add_file("--html", help="write a page with the result and the pictures to this file")
    add_algorithm_flags(parser.group("algorithm"))
    return parser
