"""Schedules in a decision: the bounds that apply, the condition, the status, and what is held back."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.algorithm.decision import Decision, NotNeeded, Rescaled
from scaler.algorithm.memory import Memory
from scaler.algorithm.readings import ExternalValues, MetricFailed
from scaler.algorithm.settings import Settings
from scaler.algorithm.settle import settle
from scaler.algorithm.why import explain
from scaler.api.autoscaler import AutoscalerSpec
from scaler.api.extension_spec import ScaleToZero
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.api.schedules import CalendarReference, FoundCalendar, ScheduleSpec
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import NOW, average, decided, external, few_examples, observed, spec

LOAD = Settings(extensions=EXTENSIONS, kind=LOAD_AUTOSCALERS, scale_to_zero=True)
# NOW is 1970-01-12T13:46:40Z, a Monday.
ACTIVE = {"schedule": "0 13 * * 1", "duration_seconds": 7200}
LATER = {"schedule": "0 18 * * 1", "duration_seconds": 7200}


def scheduled(*schedules: ScheduleSpec, **fields) -> AutoscalerSpec:
    return msgspec.structs.replace(
        spec(external(average("10")), **{"max_replicas": 40, **fields}), schedules=schedules
    )


def decision(
    of: AutoscalerSpec, load: int = 0, *, replicas: int, calendars=(), memory=None
) -> Decision:
    """One reconcile; every replica handles 10 units of load."""
    seen = msgspec.structs.replace(observed(of, replicas=replicas), inputs={"schedules": calendars})
    return decided(
        seen, [ExternalValues((load * 1000,))], memory=memory or Memory(recommendations=()), settings=LOAD
    )  # fmt: skip


def condition(of: Decision) -> tuple[str, str, str]:
    outcome = settle(of, Rescaled() if of.rescale else NotNeeded(), NOW)
    (found,) = [each for each in outcome.status.conditions or () if each.type == "Scheduled"]
    return found.status, found.reason, found.message


def test_a_floor_raises_the_target_at_once_and_says_so():
    found = decision(scheduled(ScheduleSpec(name="office", min_replicas=10, **ACTIVE)), replicas=3)
    assert (found.desired_replicas, found.rescale) == (10, True)
    assert found.rescale_reason == "Current number of replicas below minReplicas 10 of a schedule"
    assert condition(found) == (
        "True", "ScheduleActive",
        "1 schedule is active (office): minReplicas is 10, maxReplicas is 40; the next change is at 1970-01-12T15:00:00Z",
    )  # fmt: skip


def test_a_cap_lowers_the_target_at_once_and_says_so():
    found = decision(scheduled(ScheduleSpec(name="night", max_replicas=4, **ACTIVE)), replicas=9)
    assert found.desired_replicas == 4
    assert found.rescale_reason == "Current number of replicas above maxReplicas 4 of a schedule"


def test_metrics_decide_between_the_bounds_of_the_schedules():
    sale = scheduled(ScheduleSpec(name="sale", min_replicas=30, max_replicas=60, **ACTIVE))
    assert decision(sale, 550, replicas=44).desired_replicas == 55
    assert decision(sale, 9000, replicas=44).desired_replicas == 60
    assert decision(sale, 10, replicas=44).desired_replicas == 30


def test_without_an_active_schedule_the_bounds_of_the_spec_apply():
    found = decision(scheduled(ScheduleSpec(name="office", min_replicas=10, **LATER)), replicas=3)
    assert found.desired_replicas == 1
    assert condition(found) == (
        "False", "NoActiveSchedule", "no schedule is active; the next change is at 1970-01-12T18:00:00Z",
    )  # fmt: skip


def test_the_status_has_the_effective_bounds_and_the_next_change():
    of = scheduled(ScheduleSpec(name="office", min_replicas=10, **ACTIVE))
    status = settle(decision(of, replicas=10), NotNeeded(), NOW).status.schedule
    assert status is not None
    assert (status.active, status.min_replicas, status.max_replicas) == ("office", 10, 40)
    assert status.next_change_time is not None
    assert status.next_change_time.isoformat() == "1970-01-12T15:00:00+00:00"


def test_the_maximum_of_the_spec_limits_a_floor_while_no_schedule_sets_a_cap():
    found = decision(scheduled(ScheduleSpec(name="big", min_replicas=90, **ACTIVE)), replicas=3)
    assert found.desired_replicas == 40


def test_a_floor_takes_precedence_over_the_cap_of_another_schedule():
    found = decision(
        scheduled(
            ScheduleSpec(name="sale", min_replicas=12, **ACTIVE), ScheduleSpec(name="night", max_replicas=4, **ACTIVE)
        ),
        9000, replicas=12,
    )  # fmt: skip
    assert (found.policy.min_replicas, found.policy.max_replicas) == (12, 12)
    assert found.desired_replicas == 12


def test_the_minimum_of_the_spec_takes_precedence_over_a_cap():
    of = scheduled(ScheduleSpec(name="night", max_replicas=4, **ACTIVE), min_replicas=6)
    found = decision(of, 9000, replicas=6)
    assert (found.policy.min_replicas, found.policy.max_replicas) == (6, 6)
    assert found.desired_replicas == 6


BROKEN = ScheduleSpec(name="broken", schedule="0 25 * * *", duration_seconds=60, min_replicas=5)


def test_while_a_schedule_cannot_be_read_nothing_is_scaled_down():
    """Its floor is unknown."""
    found = decision(scheduled(BROKEN), 10, replicas=20)
    assert (found.desired_replicas, found.rescale) == (20, False)
    outcome = settle(found, NotNeeded(), NOW)
    limited = {each.type: each for each in outcome.status.conditions or ()}["ScalingLimited"]
    assert limited.reason == "InvalidSchedule"
    assert "not scaled down from 20 to 1: spec.schedules[0].schedule: hour '25'" in limited.message
    assert condition(found)[:2] == ("False", "InvalidSchedule")
    assert outcome.status.decision is not None
    assert outcome.status.decision.held_by == "InvalidSchedule"


def test_while_a_schedule_cannot_be_read_the_others_apply_and_metrics_scale_up():
    office = ScheduleSpec(name="office", min_replicas=10, **ACTIVE)
    found = decision(scheduled(office, BROKEN), 300, replicas=20)
    assert found.desired_replicas == 30
    assert condition(found)[:2] == ("True", "InvalidSchedule")
    assert found.policy.min_replicas == 10


def test_a_missing_calendar_is_named_in_the_condition():
    reference = CalendarReference(kind="ScalingCalendar", name="retail")
    of = scheduled(ScheduleSpec(name="holidays", calendar_ref=reference))
    missing = FoundCalendar(
        reference, None, "ScalingCalendar retail does not exist in namespace shop"
    )
    assert "spec.schedules[0].calendarRef: ScalingCalendar retail does not exist" in condition(
        decision(of, replicas=3, calendars=(missing,))
    )[2]  # fmt: skip


def test_a_floor_ends_zero_even_while_metrics_fail():
    of = scheduled(ScheduleSpec(name="office", min_replicas=10, **ACTIVE), min_replicas=0)
    memory = Memory(recommendations=(), scaled_to_zero=True)
    found = decided(
        observed(of, replicas=0), [MetricFailed("down")], memory=memory, settings=LOAD
    )  # fmt: skip
    assert found.desired_replicas == 10


def test_a_zero_that_a_user_set_stays():
    of = scheduled(ScheduleSpec(name="office", min_replicas=10, **ACTIVE), min_replicas=0)
    assert decision(of, replicas=0).desired_replicas == 0


@pytest.mark.parametrize(("times", "replicas"), [(ACTIVE, 10), (LATER, 0)])
def test_a_metric_without_load_leaves_a_target_to_its_schedules_and_to_zero(times, replicas):
    """What cron triggers of KEDA become, with a trigger that has no load."""
    zero = ScaleToZero(cooldown_seconds=0, manual_zero="Activate")
    schedule = ScheduleSpec(name="cron-0", min_replicas=10, **times)
    of = msgspec.structs.replace(scheduled(schedule, min_replicas=0), scale_to_zero=zero)
    assert decision(of, replicas=0).desired_replicas == replicas
    assert decision(of, replicas=10).desired_replicas == replicas


def test_why_names_the_schedule_and_the_next_change():
    of = scheduled(ScheduleSpec(name="office", min_replicas=10, **ACTIVE))
    assert (
        "1 schedule is active (office): minReplicas is 10, maxReplicas is 40; the next change is at 1970-01-12T15:00:00Z."
        in explain(decision(of, replicas=10).derivation, EXTENSIONS)
    )


def test_on_a_ramp_the_floor_and_the_name_say_so():
    office = ScheduleSpec(
        name="office", schedule="0 14 * * 1", duration_seconds=3600, ramp_seconds=1600, min_replicas=11
    )  # fmt: skip
    found = decision(scheduled(office), replicas=1)
    assert found.desired_replicas == 6, "half of the way from 1 to 11"
    assert "(office (ramp)): minReplicas is 6" in condition(found)[2]


def test_without_schedules_the_policy_has_none():
    found = decision(spec(external(average("10"))), 10, replicas=3)
    assert "schedules" not in found.policy.rules
    assert found.derivation.remarks == ()
    assert settle(found, NotNeeded(), NOW).status.schedule is None


def test_while_schedules_are_not_all_evaluated_nothing_is_scaled_down_and_metrics_scale_up():
    """More of them than the API server accepts."""
    of = scheduled(
        *(
            ScheduleSpec(name=f"a{each}", schedule="0 8 1 1 *", duration_seconds=60, min_replicas=5)
            for each in range(400)
        )
    )
    first = decision(of, 10, replicas=20)
    assert first.desired_replicas == 20
    outcome = settle(first, NotNeeded(), NOW)
    limited = {each.type: each for each in outcome.status.conditions or ()}["ScalingLimited"]
    assert limited.reason == "PendingSchedule"
    assert "the 400 schedules and entries of calendars have too many starts" in limited.message
    assert condition(first)[:2] == ("False", "PendingSchedule")
    assert decision(of, 300, replicas=20).desired_replicas == 30
    reconciles = 1
    while first.derivation.held_by == "PendingSchedule":
        first = decision(of, 10, replicas=20, memory=first.memory)
        reconciles += 1
        assert reconciles < 20
    assert first.desired_replicas == 1


def test_a_condition_does_not_grow_with_the_number_of_schedules():
    broken = (msgspec.structs.replace(BROKEN, name=f"broken-{each}") for each in range(20))
    active = (ScheduleSpec(name=f"active-{each}", min_replicas=2, **ACTIVE) for each in range(20))
    message = condition(decision(scheduled(*broken, *active), replicas=3))[2]
    assert "spec.schedules[4].schedule" in message
    assert "; and 15 more; nothing is scaled down" in message
    assert "20 schedules are active (active-0, " in message
    assert ", active-9 and 10 more): minReplicas is 2" in message


bounds = st.integers(1, 60)
schedules = st.lists(
    st.builds(
        lambda window, low, high, ramp: ScheduleSpec(
            name="s", min_replicas=low, max_replicas=high, ramp_seconds=ramp, **window
        ),
        st.sampled_from([ACTIVE, LATER]), st.one_of(st.none(), bounds), st.one_of(st.none(), bounds), st.integers(0, 40_000),
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@few_examples
@given(schedules=schedules, load=st.integers(0, 1000), replicas=st.integers(1, 80))
def test_a_decision_is_never_outside_the_effective_bounds(schedules, load, replicas):
    found = decision(scheduled(*schedules), load, replicas=replicas)
    policy = found.policy
    assert policy.min_replicas <= policy.max_replicas
    assert found.desired_replicas is not None
    assert policy.min_replicas <= found.desired_replicas <= policy.max_replicas
    within = [each for each in schedules if each.schedule == ACTIVE["schedule"]]
    floors = [each.min_replicas for each in within if each.min_replicas is not None]
    caps = [each.max_replicas for each in within if each.max_replicas is not None]
    if floors and (caps or max(floors) <= 40):
        assert found.desired_replicas >= max(floors)
    if caps:
        assert found.desired_replicas <= max(min(caps), policy.min_replicas)


@pytest.mark.parametrize("reading", [ExternalValues((50_000,)), MetricFailed("down")])
def test_bounds_of_a_schedule_apply_without_usable_metrics(reading):
    of = scheduled(ScheduleSpec(name="office", min_replicas=10, **ACTIVE))
    found = decided(observed(of, replicas=3), [reading], memory=Memory(), settings=LOAD)
    assert found.desired_replicas == 10


def test_schedules_and_calendars_are_read_again_only_when_they_differ():
    def reconcile(floor, problem, memory=None):
        """With objects of its own, as after the watch has listed them again."""
        reference = CalendarReference(kind="ScalingCalendar", name="retail")
        office = ScheduleSpec(name="office", min_replicas=floor, **ACTIVE)
        of = scheduled(office, ScheduleSpec(name="events", calendar_ref=reference))
        missing = FoundCalendar(reference, None, problem)
        return decision(of, replicas=3, calendars=(missing,), memory=memory)

    def read(found):
        return found.memory.states["schedules"].read

    first = reconcile(7, "it is missing")
    second = reconcile(7, "it is missing", first.memory)
    assert read(second) is read(first)
    # An object of the second reconcile, not of the first: while it is the same, comparing costs nothing.
    state = second.memory.states["schedules"]
    assert state.schedules is not first.memory.states["schedules"].schedules
    third = reconcile(9, "it is missing", second.memory)
    assert (second.desired_replicas, third.desired_replicas) == (7, 9)
    assert "it is forbidden" in condition(reconcile(9, "it is forbidden", third.memory))[2]
