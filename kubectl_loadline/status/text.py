"""Pure: what `status` says of one autoscaler."""

from collections.abc import Iterator

from kubectl_loadline.status.dry_run import DryRunComparison
from kubectl_loadline.status.row import Row


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
        f"with the replicas that this autoscaler desired, it would have had {found.desired_replica_hours:.1f}: {saving}.\n"
        f"The target had fewer replicas than desired for {found.short_minutes:.0f} minutes "
        f"({found.short_replica_hours:.1f} replica-hours short), and more for {found.excess_minutes:.0f} minutes "
        f"({found.excess_replica_hours:.1f} replica-hours).\n"
        f"Based on {basis}."
    )


def _detail(row: Row, compared: str) -> Iterator[str]:
    yield f"{row.key}, target {row.target}, {row.min} to {row.max} replicas"
    yield f"replicas   {counts(row)}"
    yield f"limited by {', '.join(row.limited_by) or 'nothing'}"
    yield f"reason     {row.reason}"
    if row.dry_run:
        yield "mode       DryRun: nothing is carried out"
    if compared:
        yield ""
        yield compared


def counts(row: Row) -> str:
    """`6 now; would run 4` for a dry run, else `6 now; desired 4`."""
    current, desired = (
        "unknown" if each is None else str(each) for each in (row.current, row.desired)
    )
    return f"{current} now; {'would run' if row.dry_run else 'desired'} {desired}"
