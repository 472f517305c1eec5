"""The invariants of zero: a target goes there after its cooldown, and leaves it for load above the activation value."""

from collections.abc import Iterator

from tests.simulation.clock_skew import Skews
from tests.simulation.creations import created_as_known
from tests.simulation.demands import certain_replicas, unmet_demand
from tests.simulation.field_invariants import violation, writes
from tests.simulation.history_invariants import ROUNDING_SECONDS, window_of
from tests.simulation.invariants import Run, Violation, awaited_before
from tests.simulation.journal import Measurement, ScaleWritten
from tests.simulation.metrics_apis import EXTERNAL, total
from tests.simulation.reconciles import Reconcile, reconciles_of
from tests.simulation.scenario import AutoscalerPlan

HARMLESS = ("pods", "rollout", "metrics")


def zero_after_cooldown(run: Run) -> Iterator[Violation]:
    """With `scaleToZero` a target goes to zero only after it had no load for the cooldown, without the time in which that was unknown.

    What its process had measured before another one owned the target does not count: that one measured it afterwards.
    """
    for written, plan in writes(run):
        fields, current = plan.fields, written.read.replicas
        if fields.cooldown_seconds is None or written.after > 0 or current == 0:
            continue
        if run.is_forced(written):
            continue
        since = run.journal.owned_since(written.process, written.target, written.sent_at)
        measured = [
            each
            for each in awaited_before(run, written, since or 0.0)
            if each.group == EXTERNAL and each.at < written.sent_at
        ]
        problem = _load_before_zero(plan, measured, written.sent_at)
        if _age_seconds_max(run, plan, written) < fields.cooldown_seconds:
            problem = f"is younger than its cooldown of {fields.cooldown_seconds} s"
        if problem:
            yield violation("zero after cooldown", written, problem)


def _age_seconds_max(run: Run, plan: AutoscalerPlan, written: ScaleWritten) -> float:
    """How old the autoscaler may have been for the process that wrote this."""
    created_at = min(created_as_known(run, plan, written.sent_at))
    early_seconds = Skews(run, plan.key).between(created_at, written.sent_at).early_seconds
    return written.sent_at - created_at + early_seconds + ROUNDING_SECONDS


def _load_before_zero(
    plan: AutoscalerPlan, measured: list[Measurement], written_at: float
) -> str | None:
    """What these measurements have against a zero that is written at this time; None if nothing."""
    fields = plan.fields
    missing_seconds = (fields.cooldown_seconds or 0) - ROUNDING_SECONDS
    until = written_at
    for each in reversed(measured):
        if missing_seconds <= 0:
            return None
        if each.value is None:
            if until == written_at:
                return f"had an unknown load at {each.at:.1f} s"
            # It is not known exactly when the cooldown has waited.
            missing_seconds -= ROUNDING_SECONDS
        elif each.value > (fields.activation or 0):
            return f"had load at {each.at:.1f} s, and {missing_seconds:.1f} s of the cooldown were left"
        else:
            missing_seconds -= until - each.at
        until = each.at
    return None


def zero_without_load(run: Run) -> Iterator[Violation]:
    """With an activation value a target leaves zero only for more load than that."""
    for written, plan in writes(run):
        fields = plan.fields
        if not fields.decides_on_activity or plan.groups != (EXTERNAL,):
            continue
        if written.read.replicas > 0 or written.after == 0 or run.is_forced(written):
            continue
        if run.falls_back(written, EXTERNAL):
            continue
        last = [*awaited_before(run, written)]
        if last and last[-1].value is not None and last[-1].value <= (fields.activation or 0):
            what = f"has a load of {last[-1].value:g} only"
            yield violation("zero without load", written, what)


def zero_left_for_load(run: Run) -> Iterator[Violation]:
    """With an activation value a target leaves zero at once for more load than that, whatever limits the next scale-up."""
    for plan in _activated(run):
        found = unmet_demand(
            run, plan, reconciles_of(run, plan), lambda each: _activating_load(run, each),
            waits_seconds=0.0,
        )  # fmt: skip
        if found is not None:
            yield Violation(invariant="zero left for load", at=found.at, what=found.what)


def _activating_load(run: Run, reconcile: Reconcile) -> str:
    """The load for which a reconcile must leave zero, in words; empty if there is none."""
    activation = reconcile.plan.fields.activation or 0
    loads = _loads(reconcile)
    if any(each is None or each <= activation for each in loads):
        return ""
    is_at_zero = certain_replicas(run, reconcile.plan, reconcile) == 0
    return (
        f"at zero it has a load of {loads[0]}"
        if is_at_zero and _may_be_zero(run, reconcile)
        else ""
    )


def zero_reached(run: Run) -> Iterator[Violation]:
    """Without load above the activation value, a target is at zero after its cooldown and what its behavior takes."""
    for plan in _activated(run):
        if plan.groups != (EXTERNAL,):
            continue
        found = unmet_demand(
            run, plan, reconciles_of(run, plan), lambda each: _idle_for_long(run, each),
            waits_seconds=_policy_seconds(plan) + run.period_of(plan),
        )  # fmt: skip
        if found is not None:
            yield Violation(invariant="zero reached", at=found.at, what=found.what)


def _idle_for_long(run: Run, reconcile: Reconcile) -> str:
    """For how long a reconcile that must shrink its target had no load, in words; empty if it need not."""
    plan = reconcile.plan
    since = reconcile.until
    for each in reversed(run.journal.measurements):
        if each.at > reconcile.until or (each.target, each.process) != (
            plan.key,
            reconcile.process,
        ):
            continue
        if each.value is None or each.value > (plan.fields.activation or 0):
            break
        since = each.at
    since = max(since, _disturbed_until(run, reconcile.until) + run.period_of(plan))
    idle_seconds = reconcile.until - since
    enough = max(plan.fields.cooldown_seconds or 0, window_of(run, plan)) + run.period_of(plan)
    if idle_seconds < enough or not _may_be_zero(run, reconcile):
        return ""
    replicas = certain_replicas(run, plan, reconcile)
    return f"{replicas} replicas, without load since {since:.1f} s" if replicas else ""


def _disturbed_until(run: Run, at: float) -> float:
    """The end of the last fault because of which a reconcile may fail before it reads the load: the cooldown waits meanwhile."""
    return max(
        (
            each.at + each.seconds
            for each in run.faults
            if each.at <= at and each.kind not in HARMLESS
        ),
        default=0.0,
    )


def _policy_seconds(plan: AutoscalerPlan) -> float:
    """For how long a policy may allow no more than what it has allowed."""
    policies = plan.down.policies if plan.down is not None else ()
    return max((each.period_seconds for each in policies), default=0)


def _activated(run: Run) -> Iterator[AutoscalerPlan]:
    """Autoscalers whose activation value decides on zero, and nothing else that an HPA lacks on the replicas."""
    if run.scenario.is_streamed:
        return  # what a reconcile was given is not seen
    for plan in run.scenario.autoscalers:
        fields = plan.fields
        has_more = fields.sets_more_than("cooldown_seconds", "activation")
        if fields.decides_on_activity and not has_more and EXTERNAL in plan.groups:
            yield plan


def _loads(reconcile: Reconcile) -> list[float | None]:
    """What the external metric may have been."""
    place = reconcile.plan.groups.index(EXTERNAL)
    return [total(answers[place]) for answers in reconcile.answers]


def _may_be_zero(run: Run, reconcile: Reconcile) -> bool:
    """Whether each spec that the process may know has zero within its bounds."""
    plan, at = reconcile.plan, reconcile.until
    bounds = run.bounds_known_by(reconcile.process, plan.key, at, (reconcile.at, at))
    return bool(bounds) and all(each.exists and each.min_replicas == 0 for each in bounds)
