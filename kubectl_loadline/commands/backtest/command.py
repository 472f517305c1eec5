"""`kubectl loadline backtest`: what other settings would have done with the recorded load of an autoscaler.

The recorded series are replayed through the decisions of the running scaler. Nothing is written to the cluster.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final, TypeVar

import msgspec

from kubectl_loadline.backtest.comparison import (
    PRESENT,
    Played,
    Policy,
    Range,
    Scenario,
    known_times,
)
from kubectl_loadline.backtest.loop import Decided
from kubectl_loadline.backtest.metric_models import ModelOptions, Models, models_of
from kubectl_loadline.backtest.recording import columns_of
from kubectl_loadline.backtest.report import OnDecision, Report, Request, backtest
from kubectl_loadline.backtest.text import left_out_of, text_of
from kubectl_loadline.cluster.autoscaler_name import FORMS, AutoscalerName
from kubectl_loadline.cluster.connecting import Unreachable, ended
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_program_flag,
    add_verification_flag,
    cluster_of,
    given_target,
)
from kubectl_loadline.cluster.manifests import Manifest, read_manifest
from kubectl_loadline.commands.backtest.from_cluster import read_from_cluster
from kubectl_loadline.commands.backtest.options import add_model_flags, names_of, price
from kubectl_loadline.recorded_series.files import write_csv
from kubectl_loadline.recorded_series.flags import add_history_flags, file_of, seconds
from kubectl_loadline.recorded_series.found import RecordedSeries, StartUp
from kubectl_loadline.recorded_series.of_metrics import SINCE_SECONDS, series_of_metrics
from kubectl_loadline.recorded_series.prometheus import SeriesUnavailable
from kubectl_loadline.terminal.documents import TEXT, add_output_flag, is_document, print_document
from kubectl_loadline.terminal.durations import in_words
from kubectl_loadline.terminal.exit_codes import OK
from kubectl_loadline.terminal.output_files import keep_files, writing
from kubectl_loadline.terminal.progress import Progress, shown_progress
from kubectl_loadline.terminal.screen import print_hidden, print_note, screen_columns
from scaler.algorithm.derivation import encoded
from scaler.algorithm.observed import PodSpec
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import metrics_of
from scaler.api.forecast import ForecastMode
from scaler.api.schedules import FoundCalendar
from scaler.runtime.flags import add_algorithm_flags, settings_of
from wire.process.command_line.parsing import FlagParser

T = TypeVar("T")

_SHOWN_EVERY: Final = 500
LEARNING_SECONDS: Final = 3 * 86400
RECORDED_SHARE_MIN: Final = 0.9
WIDE: Final = "wide"
DEFAULT_START_UP: Final = StartUp(60.0, 60.0)


class Inputs(msgspec.Struct, frozen=True, kw_only=True):
    """What is compared. `settings` are those of the scaler, by the kind of the autoscaler."""

    present: Manifest
    candidates: Mapping[str, Manifest]
    history: RecordedSeries
    settings: Mapping[str, Settings]
    calendars: tuple[FoundCalendar, ...] = ()


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; returns 1 when history cannot be read, 2 when the command line or a file is wrong."""
    flags = parser()
    given = flags.parse_args(arguments)
    if (given.name is None) == (given.autoscaler is None):
        flags.error("give either the NAME of an autoscaler, or its manifest with --autoscaler=FILE")
    target = None if given.name is None else given_target(flags, given.name, given.namespace)
    return ended("backtest", _backtest(given, target))


async def _backtest(given: argparse.Namespace, target: AutoscalerName | None) -> int:
    keep_files(
        [given.autoscaler, *given.candidate, *map(file_of, given.history), given.explanation],
        {
            "--save-history": given.save_history,
            "--decisions": given.decisions,
            "--html": given.html,
        },
    )
    try:
        namespace = _namespace_of_files(given)
        files = names_of([Path(file) for file in given.candidate])
        candidates = {
            name: read_manifest(file, namespace=namespace) for name, file in files.items()
        }
        if target is None:
            inputs = _from_files(given, namespace, candidates)
        else:
            found = await read_from_cluster(given, target, list(candidates.values()))
            inputs = Inputs(
                present=found.present,
                candidates=candidates,
                history=found.history,
                settings=found.settings,
                calendars=found.calendars,
            )
        return compare(given, inputs)
    except SeriesUnavailable as error:
        raise Unreachable(str(error)) from error


def _namespace_of_files(given: argparse.Namespace) -> str:
    """That of objects without one. Only queries need it, so the kubeconfig is read for them only."""
    is_queried = given.autoscaler is not None and not given.history
    return cluster_of(given).namespace_of_files() if is_queried else str(given.namespace)


def _from_files(
    given: argparse.Namespace, namespace: str, candidates: Mapping[str, Manifest]
) -> Inputs:
    present = read_manifest(given.autoscaler, namespace=namespace)
    kinds = (present.kind, *(each.kind for each in candidates.values()))
    return Inputs(
        present=present,
        candidates=candidates,
        history=series_of_metrics(present, given, candidates=list(candidates.values())),
        settings={kind.kind: settings_of(given, kind) for kind in kinds},
    )


def compare(given: argparse.Namespace, inputs: Inputs) -> int:
    """Replay, print and draw. Raises ValueError if the history does not fit, and `UnusableOutput`."""
    if given.save_history:
        write_csv(given.save_history, inputs.history.recording.series)
    request = request_of(given, inputs)
    scenario = request.scenario
    steps = sum(1 for _ in known_times(scenario))
    if problem := missing_history(given, scenario.range, steps):
        print_note("backtest", problem)
    of = len(scenario.range.times())
    with (
        shown_progress() as progress,
        _decisions_to(given.decisions, progress, of) as on_decision,
    ):
        report, played = backtest(request, on_decision)
    columns = screen_columns()
    left_out = () if given.output == WIDE else left_out_of(report, columns)
    if left_out and not is_document(given.output):
        print_hidden(left_out, columns)
    print_document(
        given.output,
        msgspec.json.encode(report),
        lambda: text_of(report, columns=columns, left_out=left_out),
    )
    draw(given, request, report, played)
    return OK


def missing_history(given: argparse.Namespace, span: Range, steps: int) -> str:
    """The warning if fewer than 90% of the steps of the range have values; empty without a problem."""
    whole = span.end_unix_seconds - span.start_unix_seconds
    wanted = given.since or (whole if given.history else SINCE_SECONDS)
    recorded = steps * span.step_seconds
    if recorded >= RECORDED_SHARE_MIN * wanted:
        return ""
    return f"only {in_words(recorded)} of the {in_words(wanted)} are recorded"


def request_of(given: argparse.Namespace, inputs: Inputs) -> Request:
    """What to compare. Raises ValueError if the history does not fit, and `SeriesUnavailable` if Prometheus has too little."""
    present, history = inputs.present, inputs.history
    manifests = {PRESENT: present, **inputs.candidates}
    pod_spec = present.pod_spec or PodSpec()
    others = [each.autoscaler for each in inputs.candidates.values()]
    options = _options(given, inputs, pod_spec)
    models = models_of(present.autoscaler, history.recording, options, others)
    if not models.by_column:
        reasons = "; ".join(models.not_replayed)
        problem = f"no metric of {present.autoscaler.key} can be replayed: {reasons}"
        raise ValueError(problem) if given.history else SeriesUnavailable(problem)
    start_up, words = _start_up(given.start_up, history.start_up)
    return Request(
        policies=tuple(
            Policy(name=name, autoscaler=each.autoscaler, settings=inputs.settings[each.kind.kind])
            for name, each in manifests.items()
        ),
        scenario=Scenario(
            recording=history.recording,
            models=models,
            range=range_of(given, models, list(manifests.values())),
            pod_spec=pod_spec,
            calendars=inputs.calendars,
        ),
        start_ups=tuple(dict.fromkeys((start_up.median_seconds, start_up.p95_seconds))),
        start_up_from=words,
        price_per_replica_hour=given.price,
    )


def range_of(given: argparse.Namespace, models: Models, manifests: Sequence[Manifest]) -> Range:
    """The time for which metrics are recorded, within `--since` and `--until`; raises ValueError if there is none.

    The replicas do not count: a forecast learns nothing from them.
    """
    step = given.step
    known = [each.values for each in models.by_column.values() if each.values.values]
    if not known:
        raise ValueError("the history is empty: check the queries, --since and --until")
    end = max(each.end_unix_seconds for each in known)
    if given.until is not None:
        end = min(end, int(given.until) // step * step)
    start = min(each.start_unix_seconds for each in known)
    if given.since is not None:
        start = max(start, int(end - given.since) // step * step)
    if end - start < 10 * step:
        raise ValueError(
            f"the history covers only {in_words(max(0, end - start))}; at least {in_words(10 * step)} (10 steps of {step} s) is needed"
        )
    learning = given.learn
    if learning is None:
        forecasts = [each.autoscaler.spec.forecast for each in manifests]
        learns = any(each is not None and each.mode != ForecastMode.OFF for each in forecasts)
        learning = LEARNING_SECONDS if learns else 0
    if start + learning >= end:
        raise ValueError(
            f"the history of {in_words(end - start)} ends before the forecast has learned for {in_words(learning)}: use a longer --since or a shorter --learn"
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
    """The pictures and the page, if they are wanted. Raises ValueError without the libraries for them, and `UnusableOutput`."""
    if given.plots is None and given.html is None:
        return
    # Only this needs matplotlib.
    from kubectl_loadline.commands.backtest.pictures import frontier_of, pictures

    with shown_progress() as progress:
        frontier = frontier_of(request, progress)
    drawn = pictures(request, report, played, frontier)
    if given.plots is not None:
        for name, png in drawn.items():
            with writing(given.plots / f"{name}.png") as file:
                file.write_bytes(png)
    if given.html is not None:
        from kubectl_loadline.backtest.html import page

        with writing(given.html):
            given.html.write_text(page(report, drawn), "utf-8")


def _options(given: argparse.Namespace, inputs: Inputs, pod_spec: PodSpec) -> ModelOptions:
    history = inputs.history
    columns = {
        name: history.recording.column_of(metric) or name
        for each in (inputs.present, *inputs.candidates.values())
        for metric in metrics_of(each.autoscaler.spec)
        for name in columns_of(metric)
    }

    def by_column(pairs: Sequence[tuple[str, T]]) -> dict[str, T]:
        for name, _ in pairs:
            if name not in columns:
                raise ValueError(
                    f"no metric has the name {name!r}: use one of {', '.join(columns)}"
                )
        return {columns[name]: value for name, value in pairs}

    return ModelOptions(
        kinds=by_column(given.kind),
        capacities=by_column(given.capacity),
        service_rates=by_column(given.service_rate),
        delays={**history.delays, **by_column(given.delay)},
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
    return chosen, f"{words}, an assumption: set it with --start-up"


@contextmanager
def _decisions_to(file: Path | None, progress: Progress, of: int) -> Iterator[OnDecision]:
    """Write each decision to a file as a line of JSON; `of` decisions are expected of each policy."""
    with ExitStack() as stack:
        lines = None
        if file is not None:
            lines = stack.enter_context(stack.enter_context(writing(file)).open("wb"))
        yield _on_decision(lines, progress, of)


def _on_decision(lines: IO[bytes] | None, progress: Progress, of: int) -> OnDecision:
    encode: Callable[[object], bytes] = msgspec.json.Encoder().encode
    made: Counter[str] = Counter()

    def write(policy: Policy, start_up_seconds: float, decided: Decided) -> None:
        name = f"{policy.name}, {start_up_seconds:g} s"
        made[name] += 1
        if made[name] % _SHOWN_EVERY == 0:
            progress(name, made[name], of)
        if lines is not None:
            line = {
                "policy": policy.name,
                "startUpSeconds": start_up_seconds,
                "decision": msgspec.Raw(encoded(decided.derivation)),
            }
            lines.write(encode(line) + b"\n")

    return write


def parser() -> FlagParser:
    """The flags of `backtest`."""
    parser = FlagParser(
        prog="kubectl loadline backtest",
        usage="%(prog)s NAME [flags]\n       %(prog)s --autoscaler=FILE [flags]",
        description="Replay recorded load through the decisions of the scaler, and compare the current spec with candidates.",
        examples=[
            (
                "Is a lower target worth its cost?",
                "kubectl loadline backtest web -n shop --since=14d --candidate=web-60.yaml --price=0.03",
            ),
            (
                "From files, without a cluster",
                "kubectl loadline backtest --autoscaler=web.yaml --history=web.csv --candidate=web-60.yaml",
            ),
        ],
        notes="Required permissions: get the autoscaler, its target and the calendars of its schedules; get apiservices, and "
        "list deployments and get services in the adapter's namespace; or, with --adapter, get that Deployment; for the queries of "
        "the adapter, those of `explain`; for Prometheus get services, list and get pods, get and create pods/portforward in its namespace, or --prometheus-url.\n\nExit code 0: the comparison is printed. 1: the history cannot be read. 2: a flag or a file is wrong.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help=f"the autoscaler: {FORMS}")
    parser.add_file(
        "--autoscaler",
        help="manifest of the autoscaler; for utilization metrics, also with the manifest of its target",
    )
    parser.add_argument(
        "--candidate", metavar="FILE", action="append", default=[],
        help="manifest of an autoscaler to compare with; may be repeated",
    )  # fmt: skip
    add_history_flags(parser)
    add_model_flags(parser)
    parser.add_argument(
        "--learn", type=seconds, metavar="DURATION",
        help="time at the start of the history that is not scored (default: 3d with a forecast, else none)",
    )  # fmt: skip
    parser.add_argument("--price", type=price, metavar="AMOUNT", help="price of a replica-hour")
    parser.add_file(
        "--decisions",
        help="write every decision to this file: a JSON object per line, with the decision as in `why -o json`",
    )
    parser.add_argument(
        "--plots",
        type=Path,
        metavar="DIRECTORY",
        help="write the plots to this directory, as PNG",
    )
    parser.add_file("--html", help="write an HTML page with the result and the plots to this file")
    add_output_flag(parser, (TEXT, WIDE))
    cluster = parser.group("cluster")
    add_cluster_flags(cluster)
    add_program_flag(cluster, "adapter")
    add_verification_flag(cluster)
    add_algorithm_flags(parser.group("algorithm, with --autoscaler"))
    return parser
