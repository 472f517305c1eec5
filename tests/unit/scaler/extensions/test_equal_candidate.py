"""A candidate that is equal to the spec decides as the spec, with every combination of fields and whatever happens between reconciles."""

from typing import Any, NamedTuple

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scaler.algorithm.decision import Decision, NotNeeded, Rescaled, RescaleFailed
from scaler.algorithm.history import history_of
from scaler.algorithm.memory import Memory, StoredMemory
from scaler.algorithm.observed import Observed, ScaleUnavailable, ScaleView
from scaler.algorithm.readings import ComputedFrom, ExternalValues, MetricFailed
from scaler.algorithm.restart import shifted
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import memory_after_refusal, settle
from scaler.api.autoscaler import (
    AutoscalerSpec,
    AutoscalerStatus,
    Behavior,
    CandidateSpec,
    FormulaMetricSource,
    MetricSpec,
    ScaleDownRules,
    ScaleUpRules,
)
from scaler.api.candidate import CandidateStep
from scaler.api.extension_spec import (
    Futility,
    MetricFallback,
    Panic,
    PodDeletionCost,
    PodReadiness,
    ScaleToZero,
    Suspend,
)
from scaler.api.forecast import ForecastSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.api.schedules import ScheduleSpec
from scaler.cluster.status import status_body, stored_memory
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import (
    NOW,
    at_most,
    autoscaler,
    average,
    decided,
    external,
    named,
    observed,
    pod,
    replaced,
    rules,
    spec,
)
from wire.api.meta import time_from_unix

LA = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)
GONE = MetricFailed("no metrics returned from external metrics API")
PERIOD_SECONDS = 15
REPLICAS = 4

LIMITED = Behavior(scale_up=rules(at_most("Pods", 3, 60)), scale_down=rules(window_seconds=60))


def of_field(name: str, *values: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Nothing, or the field with one of these values."""
    return st.sampled_from([{}, *({name: each} for each in values)])


def schedule(**bounds: int) -> ScheduleSpec:
    return ScheduleSpec(name="day", schedule="*/2 * * * *", duration_seconds=60, **bounds)


def merged(*found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for each in found for name, value in each.items()}


fields = st.builds(
    merged,
    of_field("pod_readiness", PodReadiness(rollout="HoldUp"), PodReadiness(rollout="IgnoreSurge"),
        PodReadiness(rollout="HottestRevision"), PodReadiness(requests="Actual")),
    of_field("scale_to_zero", ScaleToZero(cooldown_seconds=60), ScaleToZero(manual_zero="Activate")),
    of_field("min_replicas", 0, 3),
    of_field("forecast", ForecastSpec(metric="load", mode="Add")),
    of_field("schedules", (schedule(min_replicas=3),), (schedule(max_replicas=5),)),
    of_field("suspend", Suspend(direction="Up"), Suspend(replicas=0), Suspend(
        direction="Down", until=time_from_unix(NOW + 50).isoformat())),
    of_field("mode", "DryRun"),
)  # fmt: skip
behaviors = st.none() | st.builds(
    lambda up, extra, down, cost: Behavior(
        scale_up=ScaleUpRules(**up, **extra), scale_down=ScaleDownRules(**down, **cost)
    ),
    st.builds(
        merged,
        of_field("stabilization_window_seconds", 0, 60),
        of_field("policies", (at_most("Pods", 2, 60),), (at_most("Percent", 50, 30),)),
        of_field("select_policy", "Disabled"),
    ),
    st.builds(
        merged,
        of_field("panic", Panic(), Panic(hold_seconds=600)),
        of_field("futility", Futility(max_unready_replicas=1, ready_timeout_seconds=90)),
    ),
    st.builds(
        merged,
        of_field("stabilization_window_seconds", 0, 60),
        of_field("policies", (at_most("Pods", 1, 60),), (at_most("Percent", 50, 60),)),
        of_field("select_policy", "Disabled"),
    ),
    of_field("pod_deletion_cost", PodDeletionCost(metric="load")),
)
scaled_on = st.builds(
    merged,
    of_field(
        "fallback",
        *(
            MetricFallback(type=each, failure_duration_seconds=15, replicas=7)
            for each in ("Hold", "Replicas", "LastValue")
        ),
    ),
    of_field("activation_value", "5"),
)


def metrics_with(changes: dict[str, Any], *, is_computed: bool) -> tuple[MetricSpec, ...]:
    """The load at 10 per replica, as a metric or as a formula of one."""
    load = named(external(average("10")), "load", **changes)
    if not is_computed:
        return (load,)
    source = FormulaMetricSource(expression="queue / 10", target=average("1"))
    formula = MetricSpec(type="Formula", name="load", formula=source, **changes)
    return (named(external(average("1")), "queue", use="Input"), formula)


class Event(NamedTuple):
    """What happens before a reconcile with this load (None: the metric fails), and to its write."""

    load: int | None
    before: str = ""
    number: int = 0
    write: str = "applied"


happenings = st.lists(
    st.builds(
        Event,
        st.none() | st.integers(0, 400),
        st.sampled_from(["", "", "scaled", "restart", "step", "rivals", "no scale"]),
        st.integers(0, 12),
        st.sampled_from(["applied", "applied", "lost", "failed", "sent again"]),
    ),
    min_size=1,
    max_size=12,
)  # fmt: skip


class Autoscaled:
    """One autoscaler and what is remembered of it, from one reconcile to the next."""

    def __init__(self, of: AutoscalerSpec) -> None:
        self.of = of
        self.memory: Memory | StoredMemory = Memory()
        self.status = AutoscalerStatus()

    def restarts(self) -> None:
        """The next process reads the status."""
        history = history_of(self.memory, EXTENSIONS)
        body = status_body(autoscaler(self.of), self.status, history, LOAD_AUTOSCALERS)
        self.memory = stored_memory(body)

    def steps(self, seconds: float) -> None:
        """The wall clock is stepped."""
        if isinstance(self.memory, Memory):
            self.memory = shifted(self.memory, seconds, EXTENSIONS)

    def reconciled(self, event: Event, *, replicas: int, old: int, now: float) -> Decision:
        """The decision, after which everything is remembered."""
        seen = observed(self.of, replicas=replicas, status=self.status)
        if event.before == "rivals":
            seen = msgspec.structs.replace(seen, rivals=("shop/other",))
        if event.before == "no scale":
            whole = autoscaler(self.of, status=self.status)
            seen = Observed(autoscaler=whole, scale=ScaleUnavailable(message="no route"))
        found = decided(
            seen,
            [
                ComputedFrom() if each.is_computed else reading(event.load)
                for each in self.of.metrics
            ],
            memory=self.memory,
            settings=LA,
            target_pods=during_a_rollout(replicas, old),
            now=now,
        )
        self._remember(found, event.write, now)
        return found

    def _remember(self, found: Decision, write: str, now: float) -> None:
        if found.rescale and write == "sent again":
            desired = found.desired_replicas or 0
            newest = ScaleView(spec_replicas=desired, status_replicas=0, selector="app=web")
            self.memory = memory_after_refusal(self.memory, found, newest, now)
            return
        failed = RescaleFailed("timeout", may_be_applied=write == "lost")
        actuation = Rescaled() if write == "applied" else failed
        outcome = settle(found, actuation if found.rescale else NotNeeded(), now)
        self.memory, self.status = outcome.memory, outcome.status


def reading(load: int | None) -> ExternalValues | MetricFailed:
    return GONE if load is None else ExternalValues((load * 1000,))


def during_a_rollout(replicas: int, old: int) -> tuple[Any, ...]:
    """Some pods of an older revision, one that does not become ready, and one more than there are replicas."""
    found = []
    for index in range(replicas + 1):
        each = pod(f"web-{index}", ready="False" if index == 1 else "True")
        labels = {"app": "web", "pod-template-hash": "old" if index < old else "new"}
        created = time_from_unix(NOW - (9_000 if index < old else 60))
        metadata = msgspec.structs.replace(each.metadata, labels=labels, creation_timestamp=created)
        found.append(msgspec.structs.replace(each, metadata=metadata))
    return tuple(found)


# The first reconcile has no metric, and later ones neither.
LATE_AND_WITH_GAPS = [Event(each) for each in (None, 0, None, None, 0)]
# Longer than the window, which counts from the end of the outage.
AFTER_AN_OUTAGE = [Event(each) for each in (400, 400, None, None, None, None, None, 0)]
LOST_BEFORE_A_STEP = [Event(40), Event(400, write="lost"), Event(400, "step", 9), Event(400)]
HOLD = {"fallback": MetricFallback(type="Hold", failure_duration_seconds=15)}
IN_A_PANIC = Behavior(scale_up=ScaleUpRules(panic=Panic(hold_seconds=600)), scale_down=rules())
DISABLED_IN_A_PANIC = [Event(400), Event(400, "scaled", 0), Event(20, "scaled", 2)]


@settings(max_examples=200, deadline=None)
@example({}, LIMITED, {}, False, LATE_AND_WITH_GAPS, 0)
@example({}, LIMITED, {}, False, AFTER_AN_OUTAGE, 0)
@example({}, LIMITED, HOLD, False, LATE_AND_WITH_GAPS, 0)
@example({}, LIMITED, {}, False, LOST_BEFORE_A_STEP, 0)
@example({}, IN_A_PANIC, {}, False, DISABLED_IN_A_PANIC, 0)
@given(
    fields=fields,
    behavior=behaviors,
    scaled_on=scaled_on,
    is_computed=st.booleans(),
    events=happenings,
    old=st.integers(0, 6),
)
def test_a_candidate_that_is_equal_to_the_spec_changes_nothing(
    fields, behavior, scaled_on, is_computed, events, old
):
    metrics = metrics_with(scaled_on, is_computed=is_computed)
    of = replaced(spec(*metrics, behavior=behavior, max_replicas=60), **fields)
    steps = (CandidateStep(weight_percent=100, hold_seconds=60),)
    candidate = CandidateSpec(metrics=metrics, behavior=behavior, steps=steps)
    alone, both = Autoscaled(of), Autoscaled(replaced(of, candidate=candidate))
    now, replicas = NOW, REPLICAS
    for event in events:
        now += PERIOD_SECONDS
        stepped_seconds = 600 * (event.number - 6)
        for each in (alone, both):
            if event.before == "restart":
                each.restarts()
            if event.before == "step":
                each.steps(stepped_seconds)
        if event.before == "step":
            now += stepped_seconds
        if event.before == "scaled":
            replicas = event.number
        expected = alone.reconciled(event, replicas=replicas, old=old, now=now)
        found = both.reconciled(event, replicas=replicas, old=old, now=now)
        same_decision(found, expected)
        if found.rescale and event.write != "failed":
            replicas = found.desired_replicas


def same_decision(found: Decision, expected: Decision) -> None:
    """The same replicas, and not for longer."""
    assert (found.branch, found.desired_replicas) == (expected.branch, expected.desired_replicas)
    assert found.rescale == expected.rescale
    assert found.holds_until_unix_seconds <= expected.holds_until_unix_seconds
    step = found.derivation.steps.get("candidate")
    if step is not None and step.desired is not None:
        assert step.desired == step.spec_desired
    state = found.memory.states.get("candidate")
    if state is not None:
        assert not state.memory.scaled_to_zero, "only the memory of the spec says it"
