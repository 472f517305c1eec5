"""The invariant of streamed metrics: a process acts on what the adapter sends, although no request shows its reconciles.

Only of an autoscaler that follows a queue, without `behavior` and additional fields except a period of its own: more load is more
replicas at once, and what the limit per period holds back follows with the next period of the scaler, however long its own is.
"""

from collections.abc import Iterator

from tests.simulation.api_server import proposal
from tests.simulation.demands import WRITE_SECONDS
from tests.simulation.invariants import RECOVERY_SECONDS, Run, Violation
from tests.simulation.journal import Measurement
from tests.simulation.metrics_apis import UNITS_PER_REPLICA
from tests.simulation.recommendations import TOLERANCE
from tests.simulation.scenario import AutoscalerPlan

# The adapter confirms about every second. After a longer pause, the scaler may have used something else.
CONFIRMED_SECONDS = 2.5
# These may not keep a process from scaling.
HARMLESS = ("metrics", "prometheus", "adapter", "rules", "rights", "pods", "rollout")


def streams_are_acted_on(run: Run) -> Iterator[Violation]:
    """A process that is sent a value, again and again, that demands more replicas writes a count within two periods."""
    if not run.scenario.is_streamed:
        return
    for plan in run.scenario.autoscalers:
        is_plain = not plan.has_behavior and not plan.fields.sets_more_than()
        if plan.follows_a_queue and is_plain:
            yield from _not_acted_on(run, plan)


def _not_acted_on(run: Run, plan: AutoscalerPlan) -> Iterator[Violation]:
    longest = 2 * run.scenario.period + WRITE_SECONDS
    first: Measurement | None = None
    before = 0.0
    for each in run.journal.measurements:
        if not each.is_streamed or each.target != plan.key:
            continue
        is_new = first is None or first.process != each.process
        if is_new or each.at - before > CONFIRMED_SECONDS or _is_disturbed(run, each.at):
            first = None
        before = each.at
        if not _demands_more(run, plan, each):
            first = None
        elif first is None:
            first = each
        elif any(
            first.at <= at
            for at in run.journal.scale_writes(each.process, plan.key)
            if at <= each.at
        ):
            first = None
        elif each.at - first.at > longest:
            yield Violation(
                invariant="streams are acted on", at=each.at,
                what=f"{each.process} has not written the scale of {plan.key} since {first.at:.1f} s, with a load of {each.value}",
            )  # fmt: skip
            return


def _demands_more(run: Run, plan: AutoscalerPlan, measured: Measurement) -> bool:
    """Whether each version of the target and of the spec that the process may know asks for more replicas."""
    bounds = run.bounds_of(plan.key, run.known_since(measured.at), measured.at)
    owner = run.journal.owner_of(plan.namespace, measured.at)
    if measured.value is None or owner != measured.process or not bounds:
        return False
    if len({each.key for each in bounds}) > 1:
        return False
    load, versions = measured.value, run.targets_known(plan.key, measured.at)
    return all(
        0 < version.replicas < min(proposal(load), each.max_replicas)
        and version.replicas >= each.min_replicas
        and load > UNITS_PER_REPLICA * max(version.replicas, version.pods) * (1 + TOLERANCE)
        for version in versions
        for each in bounds
    )


def _is_disturbed(run: Run, at: float) -> bool:
    return any(
        each.at <= at <= each.at + each.seconds + RECOVERY_SECONDS
        for each in run.faults
        if each.kind not in HARMLESS
    )
