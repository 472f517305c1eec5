"""Nothing is scaled on values that are missing, malformed or old."""

from collections.abc import Iterator

from tests.simulation.attempts import is_left
from tests.simulation.invariants import Run, Violation, awaited_before, deadline_seconds
from tests.simulation.journal import Measurement, ScaleWritten

# A value may be so old where the period is shorter.
AGE_SECONDS_MIN = 7.5


def on_good_values(run: Run) -> Iterator[Violation]:
    """Never a scale on a value that was missing, malformed or older than a period; nothing shrinks on half of them."""
    oldest = max(run.scenario.period, AGE_SECONDS_MIN) + 1.0
    for written in run.journal.scales:
        if run.is_forced(written):
            continue
        plan = run.plan_of(written.target)
        values = {}
        for each in awaited_before(run, written, since=written.sent_at - oldest):
            if _is_for_next_reconcile(run, each, written):
                continue
            if each.value is None and each.group in values and is_left(run, plan, each):
                continue
            values[each.group] = each.value
        groups = plan.groups
        good = [
            group
            for group in groups
            if values.get(group) is not None or run.falls_back(written, group)
        ]
        shrinks = written.after < written.read.replicas
        if not good or (shrinks and len(good) < len(groups)):
            yield Violation(
                invariant="on good values", at=written.at,
                what=f"{written.process} set {written.target} from {written.before} to {written.after} on {values}",
            )  # fmt: skip


def _is_for_next_reconcile(run: Run, measured: Measurement, written: ScaleWritten) -> bool:
    """Whether a failure may have been streamed after the reconcile had read the value, while it waited for other metrics."""
    started_at = written.sent_at - deadline_seconds(run, run.plan_of(written.target))
    return measured.is_streamed and measured.value is None and measured.at > started_at
