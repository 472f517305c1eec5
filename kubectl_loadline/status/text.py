"""Pure: what `status` prints."""

from collections.abc import Iterator, Sequence

from kubectl_loadline.status.dry_run import DryRunComparison
from kubectl_loadline.status.row import Row

GAP = "   "
REASON_COLUMNS = 100


def table(rows: Sequence[Row], *, with_namespace: bool) -> str:
    """One line per autoscaler, in kubectl's layout. The reason is last, and cut in a table."""
    titles = ["NAME", "TARGET", "MIN", "MAX", "REPLICAS", "WANTED", "MODE", "LIMITED BY", "REASON"]
    lines = [[*(["NAMESPACE"] if with_namespace else []), *titles]]
    for row in rows:
        before = [row.namespace] if with_namespace else []
        lines.append([*before, *_cells(row)])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def detail(row: Row, compared: str) -> str:
    """One autoscaler in sentences; `compared` is empty unless it is a dry run."""
    return "\n".join(_detail(row, compared))


def comparison_sentence(found: DryRunComparison, basis: str) -> str:
    """What the dry run would have done. `basis` names the recording."""
    saved = found.saved_replica_hours
    saving = (
        f"{abs(saved):.1f} replica-hours {'fewer' if saved > 0 else 'more'}"
        if abs(saved) >= 0.05
        else "the same"
    )
    return (
        f"In {found.hours:.1f} recorded hours the target had {found.actual_replica_hours:.1f} replica-hours; "
        f"this autoscaler wanted {found.wanted_replica_hours:.1f}: {saving}.\n"
        f"The target had fewer replicas than it wanted for {found.short_minutes:.0f} minutes "
        f"({found.short_replica_hours:.1f} replica-hours short), and more for {found.excess_minutes:.0f} minutes "
        f"({found.excess_replica_hours:.1f} replica-hours).\n"
        f"Based on {basis}."
    )


def _cells(row: Row) -> list[str]:
    return [
        f"{row.kind}/{row.name}",
        row.target,
        str(row.min),
        str(row.max),
        _count(row.current),
        _count(row.wanted),
        "DryRun" if row.dry_run else "Enforce",
        ", ".join(row.limited_by) or "-",
        _cut(row.reason),
    ]


def _detail(row: Row, compared: str) -> Iterator[str]:
    yield f"{row.key}, target {row.target}, {row.min} to {row.max} replicas"
    verb = "would have" if row.dry_run else "wants"
    yield f"replicas   {counted(row.current)}, and it {verb} {counted(row.wanted)}"
    yield f"limited by {', '.join(row.limited_by) or 'nothing'}"
    yield f"reason     {row.reason}"
    if row.dry_run:
        yield "mode       DryRun: nothing is carried out"
    if compared:
        yield ""
        yield compared


def counted(replicas: int | None) -> str:
    """`1 replica`, `3 replicas`, or that it is not known."""
    if replicas is None:
        return "an unknown number of replicas"
    return "1 replica" if replicas == 1 else f"{replicas} replicas"


def _count(replicas: int | None) -> str:
    return "?" if replicas is None else str(replicas)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REASON_COLUMNS else f"{line[: REASON_COLUMNS - 3]}..."
