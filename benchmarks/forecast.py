"""How long is a target under-provisioned, with and without a forecast, at equal replica-hours?

Recorded loads (`--traces DIRECTORY`: CSV files with a header and two columns, Unix seconds and load) are replayed
through the scaler's decisions. The plain HPA is tuned: its target is the one with which it has as many replica-hours
as the policy that it is compared with. The first three days are not scored, because a forecast learns in them.
"""

import csv
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.forecast_policies import Policy, policies
from benchmarks.instruments.figures import Figures, Result, Round
from benchmarks.measurement_options import Options, Report
from benchmarks.traces.replay import Setup, Step, replay, score
from benchmarks.traces.trace import STEP_SECONDS, Trace, trace_of
from kubectl_loadline.backtest.score import Score

LEARNING_SECONDS = 3 * 86400
START_UP_SECONDS = (120, 300)
# How late the scaler sees a load, and how much later a forecast must be useful.
DELAY_SECONDS = 60
MARGIN_SECONDS = 60
# A pod is full at a thirtieth of the 99th percentile of the load; at 90% of that, its responses become slow.
FULL_PODS = 30
SERVED_SHARE = 0.9
TARGET = 0.7
HPA_TARGETS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.85)
START_REPLICAS = 5
COMPARABLE = ("under_provisioned_percent", "replica_hours", "longest_minutes")
# Below that share of the time, a comparison in percent means nothing.
LEAST_PERCENT = 0.01


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One replay: its score, and what only a forecast has."""

    score: Score
    seconds_per_decision: float
    reliable_percent: float | None = None
    coverage_percent: float | None = None
    waste_percent_max: float | None = None


def run(options: Options, report: Report) -> Result:
    """Replay. Raises ValueError without traces."""
    if options.traces is None:
        raise ValueError("the benchmark forecast needs --traces DIRECTORY")
    rounds: list[Round] = []
    files = sorted(options.traces.glob("*.csv"))
    for start_up in START_UP_SECONDS:
        case = f"start-up {start_up // 60} min"
        for number, file in enumerate(files):
            for policy, figures in compared(recorded(file), start_up):
                report(f"{case}, {file.stem}, {policy.name}: {_words(figures)}")
                rounds.append(Round(case=case, program=policy.name, number=number, figures=figures))
        for sentence in _summaries([each for each in rounds if each.case == case]):
            report(sentence)
    return Result(
        benchmark="forecast",
        setting={"traces": len(files), "delay of the metric": f"{DELAY_SECONDS} s"},
        reference="HPA",
        rounds=tuple(rounds),
    )


def _summaries(rounds: Sequence[Round]) -> Iterator[str]:
    """Of each policy that is compared with the tuned HPA. The table has medians only."""
    for policy in dict.fromkeys(each.program for each in rounds):
        figures = [each.figures for each in rounds if each.program == policy]
        changes = [each["change_percent"] for each in figures if "change_percent" in each]
        if changes:
            hours = statistics.median(each["more_replica_hours_percent"] for each in figures)
            yield (
                f"{rounds[0].case}, {policy}: median {statistics.median(changes):+.1f}%, best {min(changes):+.1f}%, "
                f"worst {max(changes):+.1f}%, with {hours:+.1f}% replica-hours"
            )


def recorded(file: Path) -> Trace:
    """The load of a CSV file."""
    with file.open() as lines:
        rows = list(csv.reader(lines))[1:]
    return trace_of(file.stem, [(float(at), float(load)) for at, load in rows])


def compared(trace: Trace, start_up_seconds: int) -> list[tuple[Policy, Figures]]:
    """Every policy beside an HPA with as many replica-hours."""
    lead_seconds = start_up_seconds + DELAY_SECONDS + MARGIN_SECONDS
    hpa, *others = policies(lead_seconds)
    tuned = [replayed(trace, hpa, target, start_up_seconds).score for target in HPA_TARGETS]
    middle = tuned[HPA_TARGETS.index(TARGET)]
    alone = figures_of(Run(score=middle, seconds_per_decision=0.0), tuned)
    # It is compared with itself, and how long it takes was not measured.
    own: Figures = {name: alone[name] for name in alone if name in COMPARABLE}
    found = [(hpa, own)]
    for policy in others:
        run_ = replayed(trace, policy, TARGET, start_up_seconds)
        figures = figures_of(run_, tuned)
        more = 100.0 * (run_.score.replica_hours / middle.replica_hours - 1.0)
        found.append((policy, {**figures, "more_replica_hours_percent": more}))
    return found


def figures_of(run_: Run, tuned: Sequence[Score]) -> Figures:
    """`change_percent`: of the time under-provisioned, compared with the tuned HPA."""
    found = {
        "under_provisioned_percent": run_.score.under_timeshare,
        "change_percent": change_percent(run_.score, tuned),
        "replica_hours": run_.score.replica_hours,
        "longest_minutes": float(run_.score.longest_under_minutes),
        "microseconds_per_decision": run_.seconds_per_decision * 1e6,
    }
    for name in ("reliable_percent", "coverage_percent", "waste_percent_max"):
        value = getattr(run_, name)
        if value is not None:
            found[name] = value
    return found


def change_percent(found: Score, tuned: Sequence[Score]) -> float:
    """Less than 0: less time under-provisioned than the HPA with as many replica-hours."""
    points = [(each.replica_hours, each.under_timeshare) for each in tuned]
    return change_at_equal_hours((found.replica_hours, found.under_timeshare), points)


def change_at_equal_hours(
    found: tuple[float, float], tuned: Sequence[tuple[float, float]]
) -> float:
    """As `change_percent`, of points: replica-hours, and the percentage of the time under-provisioned."""
    hours, short_percent = found
    without = max(_at_hours(hours, tuned), LEAST_PERCENT)
    return 100.0 * (max(short_percent, LEAST_PERCENT) / without - 1.0)


def replayed(trace: Trace, policy: Policy, target: float, start_up_seconds: int) -> Run:
    """`target` is the share of a full pod."""
    full = trace.percentile(99) / FULL_PODS
    lead_seconds = start_up_seconds + DELAY_SECONDS + MARGIN_SECONDS
    setup = Setup(
        start_up_seconds=start_up_seconds, delay_seconds=DELAY_SECONDS, replicas=START_REPLICAS
    )
    started = time.process_time()
    steps = [
        _slim(each)
        for each in replay(
            policy.autoscaler(full * target),
            policy.settings,
            trace,
            setup,
            others=policy.others(trace, lead_seconds),
        )
    ]
    spent = time.process_time() - started
    scored_from = trace.start_unix_seconds + LEARNING_SECONDS
    scored = [each for each in steps if each.unix_seconds >= scored_from]
    found = Run(score=score(scored, full * SERVED_SHARE), seconds_per_decision=spent / len(steps))
    if policy.forecast is None:
        return found
    forecasts = [each.derivation.steps.get("forecast") for each in scored]
    known = [each for each in forecasts if each is not None]
    return msgspec.structs.replace(
        found,
        reliable_percent=100.0 * sum(each.acts for each in known) / max(1, len(known)),
        coverage_percent=_coverage(scored, lead_seconds // STEP_SECONDS),
        waste_percent_max=max((each.day.wasted_percent for each in known[1440:]), default=0.0),
    )


def _slim(step: Step) -> Step:
    """Without the parts of the derivation that are not scored: there are tens of thousands of steps."""
    slim = msgspec.structs.replace(step.derivation, metrics=(), remarks=())
    return msgspec.structs.replace(step, derivation=slim)


def _coverage(steps: Sequence[Step], lead: int) -> float:
    """How often the peak of the lead was at most the bound, in percent: the bound claims 98."""
    forecasts = [each.derivation.steps.get("forecast") for each in steps]
    loads = [None if each is None else each.load for each in forecasts]
    covered = judged = 0
    for index, each in enumerate(forecasts):
        following = loads[index + 1 : index + 1 + lead]
        known = [load for load in following if load is not None]
        if each is None or each.bound is None or len(known) < lead:
            continue
        judged += 1
        covered += max(known) <= each.bound
    return 100.0 * covered / max(1, judged)


def _at_hours(hours: float, tuned: Sequence[tuple[float, float]]) -> float:
    """The HPA's time under-provisioned at so many replica-hours, between two of its targets."""
    points = sorted(tuned)
    index = next((i for i in range(1, len(points)) if hours <= points[i][0]), len(points) - 1)
    (low, more), (high, less) = points[index - 1], points[index]
    share = 0.0 if high == low else (hours - low) / (high - low)
    logarithms = [math.log(max(each, LEAST_PERCENT)) for each in (more, less)]
    return math.exp(logarithms[0] + (logarithms[1] - logarithms[0]) * share)


def _words(figures: Figures) -> str:
    return ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
