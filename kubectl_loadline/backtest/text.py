"""Pure: the result of a backtest as text."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kubectl_loadline.backtest.comparison import Result
from kubectl_loadline.backtest.report import Report
from wire.process.command_line.messages import wrapped

HEADER = (
    "policy", "start-up", "short", "depth", "spare", "depth", "longest", "replica-h", "instability", "jitter", "wasted",
)  # fmt: skip
# The first of these are left out on a narrow terminal.
LEFT_OUT = ("instability", "jitter", "wasted", "depth", "longest", "warning")
LEGEND = (
    "short, spare: share of the time with fewer or more ready replicas than the load demands, and by how many of them on "
    "average (depth). longest: longest time short. instability: where supply and demand do not change in the same "
    "direction. jitter: changes of the supply minus those of the demand. wasted: replicas that were added and removed "
    "without being demanded. oracle: the demand, known one start-up time ahead."
)


def text_of(report: Report, *, columns: int | None = None, left_out: Sequence[str] = ()) -> str:
    """Several lines, without a newline at the end; sentences are broken at `columns`, and the table has no column `left_out`."""
    return "\n".join(
        [
            wrapped("\n".join(_sentences(report)), columns),
            "",
            *_table(_rows(report), left_out),
            "",
            wrapped(LEGEND, columns),
        ]
    )


def left_out_of(report: Report, columns: int | None) -> tuple[str, ...]:
    """The columns that do not fit a terminal, the least important first."""
    titles = next(_rows(report))
    candidates = tuple(each for each in LEFT_OUT if each in titles)
    for count in range(len(candidates)):
        table = _table(_rows(report), candidates[:count])
        if columns is None or max(map(len, table)) <= columns:
            return candidates[:count]
    return candidates


def _sentences(report: Report) -> Iterator[str]:
    yield (
        f"{report.autoscaler}: {_time(report.start_unix_seconds)} to {_time(report.end_unix_seconds)}, "
        f"{report.decisions} decisions per policy, one every {report.step_seconds} s"
    )
    if report.fidelity is not None:
        yield (
            f"Fidelity: the current spec is within 1 replica of what was recorded for "
            f"{report.fidelity.within_one_percent:.1f}% of the time; mean error {report.fidelity.mean_error:.2f} replicas."
        )
    for warning in report.warnings:
        yield f"WARNING: {warning[:1].upper()}{warning[1:]}."
    yield from _assumptions(report)


def _assumptions(report: Report) -> Iterator[str]:
    for load in report.loads:
        source = f" from {load.source}" if load.source else ""
        yield (
            f"{load.metric}{source}: a {load.kind}; a ready replica serves {load.served_per_replica:.6g} of it "
            f"({load.served_from}); {load.delay_seconds:g} s late."
        )
    for name, source in report.sources.items():
        if name not in {load.metric for load in report.loads}:
            yield f"{name} from {source}."
    yield f"Start-up time: {report.start_up_from}."
    if report.scored_from_unix_seconds > report.start_unix_seconds:
        yield f"Scored from {_time(report.scored_from_unix_seconds)}: until then, forecasts learn."
    if report.censored_minutes:
        yield (
            f"For {report.censored_minutes:g} minutes the recorded pods were almost saturated, so the load may have been larger: "
            f"there the results are lower bounds."
        )
    for remark in report.remarks:
        yield f"{remark}."
    for what in report.not_replayed:
        yield f"Not replayed: {what}."


def _rows(report: Report) -> Iterator[Sequence[str]]:
    price = report.price_per_replica_hour
    is_low = any(each.warning for each in report.results)
    yield (*HEADER, *(["cost"] if price is not None else []), *(["warning"] if is_low else []))
    for each in report.results:
        cost = [] if price is None else [f"{each.score.replica_hours * price:.2f}"]
        yield (*_row(each), *cost, *([each.warning] if is_low else []))


def _row(result: Result) -> tuple[str, ...]:
    score = result.score
    return (
        result.policy,
        f"{result.start_up_seconds:g} s" if result.start_up_seconds else "",
        f"{score.under_timeshare:.2f}%",
        f"{score.under_accuracy:.2f}%",
        f"{score.over_timeshare:.1f}%",
        f"{score.over_accuracy:.1f}%",
        f"{score.longest_under_minutes:g} min",
        f"{score.replica_hours:.1f}",
        f"{score.instability:.1f}%",
        f"{score.jitter_per_hour:+.1f}/h",
        f"{score.wasted_additions:.0f}%",
    )


def _table(rows: Iterator[Sequence[str]], left_out: Sequence[str]) -> Iterator[str]:
    """The first column to the left, the others to the right."""
    titles, *below = rows
    kept = [column for column, title in enumerate(titles) if title not in left_out]
    cells = [[row[column] for column in kept] for row in (titles, *below)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    for first, *others in cells:
        padded = [each.rjust(width) for each, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *padded]).rstrip()


def _time(unix_seconds: int) -> str:
    return datetime.fromtimestamp(unix_seconds, UTC).strftime("%Y-%m-%dT%H:%MZ")
