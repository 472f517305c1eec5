"""`kubectl loadline suggest deployment/web`: an autoscaler for a workload, from its recorded series.

Nothing is written to the cluster. The proposal is a LoadAutoscaler in DryRun, with what each choice costs.
"""

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from kubectl_loadline.backtest.comparison import Range, Scenario
from kubectl_loadline.backtest.metric_models import DELAY_SECONDS, ModelOptions, models_of
from kubectl_loadline.backtest.recording import READY_REPLICAS, REPLICAS, Recording
from kubectl_loadline.cluster.connecting import Unreachable, connected, ended
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_program_flag,
    cluster_of,
)
from kubectl_loadline.cluster.prometheus_url import prometheus_url
from kubectl_loadline.cluster.workloads import FoundWorkload, read_workload, workload_in_cluster
from kubectl_loadline.commands.suggest.recorded_series import query_of, recorded_series
from kubectl_loadline.recorded_series.files import write_csv
from kubectl_loadline.recorded_series.flags import (
    add_history_flags,
    amount_pair,
    file_of,
    start_up,
)
from kubectl_loadline.recorded_series.found import RecordedSeries
from kubectl_loadline.recorded_series.of_metrics import sends_credentials
from kubectl_loadline.recorded_series.prometheus import SCRAPE_SECONDS_MAX, SeriesUnavailable
from kubectl_loadline.suggest.knee import full_load
from kubectl_loadline.suggest.proposal import Choices, Workload, autoscaler_of, manifest_of
from kubectl_loadline.suggest.search import Problem, searched
from kubectl_loadline.suggest.series_choice import CPU, judged
from kubectl_loadline.suggest.suggestion import Suggestion
from kubectl_loadline.suggest.text import commented
from kubectl_loadline.terminal.documents import add_output_flag, print_document
from kubectl_loadline.terminal.durations import in_words
from kubectl_loadline.terminal.exit_codes import FOUND, OK
from kubectl_loadline.terminal.output_files import keep_files, keep_other_keys, writing
from kubectl_loadline.terminal.progress import shown_progress
from kubectl_loadline.terminal.screen import print_note, screen_columns
from wire.process.command_line.messages import wrapped
from wire.process.command_line.parsing import FlagParser
from wire.process.yaml_text import as_yaml
from wire.prometheus.scrape_interval import fitting_range

SHORT_PERCENT_MAX: Final = 0.5
SERVED_SHARE: Final = 0.9
METRICS_MAX: Final = 3
HISTORY_STEPS_MIN: Final = 60
DEFAULT_START_UP_SECONDS: Final = 60.0
# A forecast must be ahead of the start-up, the delay of the metric and a minute.
LEAD_MARGIN_SECONDS: Final = 120
LEAD_SECONDS: Final = (120, 1800)


class NothingProposed(Exception):
    """The history could be read, and nothing can be proposed from it; the message has the reason."""


def main(arguments: Sequence[str]) -> int:
    """Print the proposal; returns 1 when history cannot be read, 2 when the command line or a file is wrong, 3 without a proposal."""
    flags = parser()
    given = flags.parse_args(arguments)
    if (given.name is None) == (given.workload is None):
        flags.error(
            "give either the workload, such as deployment/web, or its manifest with --workload=FILE"
        )
    return ended("suggest", _suggest(given))


async def _suggest(given: argparse.Namespace) -> int:
    keep_files(
        [given.workload, *map(file_of, given.history)],
        {"--rules": given.rules, "--save-history": given.save_history},
    )
    keep_other_keys("--rules", given.rules, ("metrics",))
    try:
        if given.workload is not None:
            workload = _of_file(given)
            return proposed(given, workload, recorded_series(workload, given, given.prometheus_url))
        async with connected(cluster_of(given)) as session:
            workload = await workload_in_cluster(session, given.name)
            async with prometheus_url(
                session,
                url=given.prometheus_url,
                adapter=given.program,
                sends_credentials=sends_credentials(given),
            ) as url:
                history = await asyncio.to_thread(
                    recorded_series, workload, given, url, session.connection.server
                )
        return proposed(given, workload, history)
    except NothingProposed as error:
        print_note("suggest", str(error))
        return FOUND
    except SeriesUnavailable as error:
        raise Unreachable(str(error)) from error


def _of_file(given: argparse.Namespace) -> FoundWorkload:
    """Raises `UnusableManifest`, and `ConnectionConfigError` if only a kubeconfig that cannot be read has its namespace."""
    found = read_workload(given.workload, namespace=given.namespace)
    namespace = found.namespace or cluster_of(given).namespace_of_files()
    return msgspec.structs.replace(found, namespace=namespace)


def proposed(given: argparse.Namespace, workload: FoundWorkload, history: RecordedSeries) -> int:
    """Search, and print. Raises `NothingProposed` and `UnusableOutput`."""
    if given.save_history:
        write_csv(given.save_history, history.recording.series)
    suggestion = suggestion_of(given, workload, history)
    if given.rules is not None and suggestion.rules:
        with writing(given.rules):
            given.rules.write_text(as_yaml(suggestion.rules), "utf-8")
    document = msgspec.json.encode(suggestion)
    print_document(given.output, document, lambda: _manifest(suggestion, given.rules))
    return OK


def _manifest(suggestion: Suggestion, rules: Path | None) -> str:
    columns = screen_columns()
    text = wrapped("\n".join(commented(suggestion, rules)), columns and columns - len("# "))
    comment = "\n".join(f"# {line}".rstrip() for line in text.splitlines())
    manifest = as_yaml(suggestion.load_autoscaler)
    return f"{comment}\n{manifest}".removesuffix("\n")


def suggestion_of(
    given: argparse.Namespace, workload: FoundWorkload, history: RecordedSeries
) -> Suggestion:
    """Raises `NothingProposed` if no series can be scaled on, or the history is too short."""
    recording = history.recording
    found = judged(
        {
            name: each
            for name, each in recording.series.items()
            if name not in (REPLICAS, READY_REPLICAS)
        }
    )
    usable = [each.name for each in found if not each.rejected][:METRICS_MAX]
    if not usable:
        reasons = "; ".join(f"{each.name}: {each.rejected}" for each in found)
        raise NothingProposed(f"no series of {workload.name} can be scaled on: {reasons}")
    span = _range(given, recording)
    full = {
        name: dict(given.capacity).get(name) or full_load(recording, name, span.times())
        for name in usable
    }
    # The 95th percentile: a proposal must also hold for slow pods.
    known = given.start_up or history.start_up
    seconds = DEFAULT_START_UP_SECONDS if known is None else known.p95_seconds
    target = _target(workload, history, usable, seconds)
    problem = Problem(
        scenario=_scenario(recording, history, target, full, span),
        workload=target,
        start_up_seconds=seconds,
        full=full,
        external=frozenset(history.queries),
        short_percent_max=given.short,
    )
    with shown_progress() as progress:
        counts: dict[str, int] = {}

        def tried(about: str) -> None:
            counts[about] = counts.get(about, 0) + 1
            # How many choices a step of the search tries is not known before.
            progress(f"trying {about}", counts[about], None)

        result = searched(problem, tried)
    return Suggestion(
        series=found,
        full=full,
        short_percent_max=given.short,
        start_up_seconds=seconds,
        start_up_assumed=known is None,
        found=result,
        load_autoscaler=manifest_of(result.choices, target),
        rules=_rules(result.choices, history),
        sources=recording.sources,
    )


def _scenario(
    recording: Recording,
    history: RecordedSeries,
    target: Workload,
    full: Mapping[str, float],
    span: Range,
) -> Scenario:
    """All usable series count for the demand: a pod is short if it is for one of them."""
    proposals = [
        autoscaler_of(
            Choices(metric=name, share=1, target=load, min_replicas=1, max_replicas=1), target
        )
        for name, load in full.items()
    ]
    metrics = tuple(each for proposal in proposals for each in proposal.spec.metrics or ())
    spec = msgspec.structs.replace(proposals[0].spec, metrics=metrics)
    options = ModelOptions(
        kinds=dict.fromkeys(full, "load"),
        capacities={name: SERVED_SHARE * load for name, load in full.items()},
        delays=history.delays,
    )
    models = models_of(msgspec.structs.replace(proposals[0], spec=spec), recording, options)
    return Scenario(recording=recording, models=models, range=span)


def _range(given: argparse.Namespace, recording: Recording) -> Range:
    """Raises `NothingProposed` for a history that is too short to choose and to judge."""
    step = recording.step_seconds
    series = [each for each in recording.series.values() if each.values]
    start, end = (
        min(each.start_unix_seconds for each in series),
        max(each.end_unix_seconds for each in series),
    )
    if given.since is not None:
        start = max(start, int(end - given.since) // step * step)
    if end - start < HISTORY_STEPS_MIN * step:
        raise NothingProposed(
            f"the history covers only {in_words(end - start)}; at least {in_words(HISTORY_STEPS_MIN * step)} "
            f"({HISTORY_STEPS_MIN} steps of {step} s) is needed, and two weeks are better"
        )
    return Range(
        start_unix_seconds=start,
        end_unix_seconds=end,
        step_seconds=step,
        scored_from_unix_seconds=start,
    )


def _target(
    workload: FoundWorkload, history: RecordedSeries, usable: Sequence[str], start_up_seconds: float
) -> Workload:
    delay = max((history.delays.get(name, DELAY_SECONDS) for name in usable), default=0.0)
    lead = int(start_up_seconds + delay + LEAD_MARGIN_SECONDS / 2)
    return Workload(
        namespace=workload.namespace,
        name=workload.name,
        kind=workload.kind,
        api_version=workload.api_version,
        lead_seconds=min(max(lead, LEAD_SECONDS[0]), LEAD_SECONDS[1]),
    )


def _rules(choices: Choices, history: RecordedSeries) -> dict[str, Any]:
    """The configuration of the adapter that serves the metric; empty for CPU, which the resource metrics API has."""
    name = choices.metric
    if name == CPU:
        return {}
    if choices.is_external:
        return {"metrics": [{"name": name, "query": history.queries[name]}]}
    range_ = history.ranges.get(name) or fitting_range(SCRAPE_SECONDS_MAX)
    rule = {"name": name, "describes": "pods", "query": query_of(name, range_)}
    return {"metrics": [{**rule, "window": range_}]}


def parser() -> FlagParser:
    """The flags of `suggest`."""
    parser = FlagParser(
        prog="kubectl loadline suggest",
        usage="%(prog)s KIND/NAME [flags]\n       %(prog)s --workload=FILE [flags]",
        description="Propose an autoscaler for a workload from its recorded series: metric, target, bounds, windows and "
        "behavior, with what each choice costs. Choices are made on the first two thirds of the history, and tested on the last third.",
        examples=[
            (
                "For a Deployment; the proposal only reports what it would do",
                "kubectl loadline suggest deployment/web -n shop --rules=rules.yaml > web.yaml",
            ),
            (
                "From files, without a cluster",
                "kubectl loadline suggest --workload=web.yaml --history=web.csv",
            ),
        ],
        notes="Exit code 0: an autoscaler is proposed. 1: the history cannot be read. 2: a flag or a file is wrong. "
        "3: nothing can be proposed: no series can be scaled on, or the history is too short.",
    )
    parser.add_argument(
        "name", metavar="KIND/NAME", nargs="?", help="the workload, such as deployment/web"
    )
    parser.add_file("--workload", help="manifest of the workload")
    parser.add_argument(
        "--short", type=percent, default=SHORT_PERCENT_MAX, metavar="PERCENT",
        help="percentage of the time in which there may be too few ready replicas",
    )  # fmt: skip
    parser.add_argument(
        "--capacity", type=amount_pair, action="append", default=[], metavar="NAME=QUANTITY",
        help="load of a full replica (default: 95th percentile of the recorded load per ready replica); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--start-up", type=start_up, metavar="P50[,P95]",
        help="how long a pod takes to become ready (default: as recorded, or 60s)",
    )  # fmt: skip
    parser.add_file(
        "--rules", help="write the adapter's configuration for the metric to this new file"
    )
    add_history_flags(parser)
    add_output_flag(parser)
    cluster = parser.group("cluster")
    add_cluster_flags(cluster)
    add_program_flag(cluster, "adapter")
    return parser


def percent(text: str) -> float:
    """0 to 100."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a percentage from 0 to 100")
    return found
