"""Until when a process may remember an earlier autoscaler of the same name, and when it knows the new one."""

import msgspec
import pytest

from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, LOAD_AUTOSCALERS, WatchedKind
from tests.simulation.creations import (
    created_as_known,
    existed_before,
    known_by,
    left_at_zero_since,
    remembered_changes,
)
from tests.simulation.faults import Fault
from tests.simulation.invariants import BACKOFF_SECONDS, WATCH_SECONDS, Run
from tests.simulation.journal import (
    Bounds,
    Journal,
    Restored,
    ScaleWritten,
    StatusWritten,
    TargetVersion,
)
from tests.simulation.scenario import made_from

SCENARIO = made_from(0)
PLAN = SCENARIO.autoscalers[0]
# The autoscaler is deleted at 100 s with its CRD, and created again at 160 s, when it can be served again.
DELETED_AT, CREATED_AT = 100.0, 160.0
OUTAGE = Fault(kind="crd", at=DELETED_AT, seconds=CREATED_AT - DELETED_AT, how="deleted")
FIRST_READ_AT = CREATED_AT + BACKOFF_SECONDS


@pytest.fixture
def run() -> Run:
    return a_run(OUTAGE)


def a_run(*faults: Fault, kind: WatchedKind = LOAD_AUTOSCALERS) -> Run:
    scenario, journal = msgspec.structs.replace(SCENARIO, kind=kind), Journal(())
    run = Run(scenario=scenario, faults=faults, journal=journal)
    note(run, 0.0, "first", exists=True)
    note(run, DELETED_AT, "first", exists=False)
    note(run, CREATED_AT, "second", exists=True)
    return run


def note(run: Run, at: float, uid: str, *, exists: bool) -> None:
    """From this moment on, the autoscaler with this uid exists, or does not."""
    run.journal.bounds.append(
        Bounds(
            at=at, key=f"{run.scenario.kind.plural}/{PLAN.key}", uid=uid, target=PLAN.key,
            min_replicas=1, max_replicas=9, spec={}, exists=exists,
        )
    )  # fmt: skip


def change(at: float) -> ScaleWritten:
    """At this moment, one replica is added to the target."""
    read = TargetVersion(at=at, version="1", replicas=1, pods=1)
    return ScaleWritten(
        at=at, sent_at=at, process="scaler-a.1", target=PLAN.key, before=1, after=2, read=read
    )


def times(run: Run, at: float, *changes: float) -> list[list[float]]:
    found = remembered_changes(run, PLAN, at, [change(each) for each in changes])
    return [[each.at for each in remembered] for remembered in found]


def test_a_process_that_cannot_watch_may_know_the_autoscaler_that_is_gone(run):
    assert created_as_known(run, PLAN, CREATED_AT + 1) == (CREATED_AT, 0.0)


def test_after_the_longest_backoff_only_the_new_one_is_known(run):
    at = FIRST_READ_AT + 2 * SCENARIO.period + 10
    assert created_as_known(run, PLAN, at) == (CREATED_AT,)
    assert FIRST_READ_AT <= known_by(run, CREATED_AT) <= at


def test_without_a_fault_the_new_one_is_known_at_once():
    assert known_by(a_run(), CREATED_AT) <= CREATED_AT + 2 * WATCH_SECONDS


def test_the_first_autoscaler_is_known_from_the_beginning(run):
    assert known_by(run, 0.0) == 0.0


def test_changes_of_the_autoscaler_that_is_gone_count_until_the_new_one_is_known(run):
    assert times(run, CREATED_AT + 1, 50.0, 120.0) == [[], [50.0, 120.0]]


def test_what_is_changed_before_the_new_one_is_known_may_be_forgotten(run):
    at = FIRST_READ_AT + 2 * SCENARIO.period + 10
    assert times(run, at, 120.0, CREATED_AT + 20, at - 1) == [[CREATED_AT + 20, at - 1], [at - 1]]


@pytest.mark.parametrize(
    ("backup_at", "uid", "expected"),
    [
        pytest.param(90.0, "first", (0.0, 90.0), id="with its uid"),
        pytest.param(90.0, "third", None, id="created by a user after the restore"),
        pytest.param(150.0, "first", None, id="gone in the backup"),
        pytest.param(170.0, "second", (CREATED_AT, 170.0), id="the second one"),
    ],
)
def test_a_restore_brings_back_the_autoscaler_of_the_backup(run, backup_at, uid, expected):
    run.journal.restores.append(Restored(at=400.0, backup_at=backup_at))
    note(run, 300.0, "second", exists=False)
    note(run, 400.0, uid, exists=True)
    assert existed_before(run, PLAN, 400.0) == expected
    assert existed_before(run, PLAN, CREATED_AT) is None


def test_a_restore_creates_nothing_that_exists_before_it(run):
    run.journal.restores.append(Restored(at=400.0, backup_at=300.0))
    note(run, 400.0, "second", exists=True)
    assert existed_before(run, PLAN, 400.0) is None


@pytest.mark.parametrize(
    ("kind", "zero_at", "replicas", "expected"),
    [
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, CREATED_AT + 5, 0, CREATED_AT + 5, id="unknown"),
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, CREATED_AT + 5, 1, None, id="not at zero"),
        pytest.param(HORIZONTAL_POD_AUTOSCALERS, 400.0, 0, None, id="a zero of the new one"),
        pytest.param(LOAD_AUTOSCALERS, CREATED_AT + 5, 0, None, id="a LoadAutoscaler leaves it"),
    ],
)
def test_a_zero_of_a_process_that_knew_only_an_earlier_hpa_stays(kind, zero_at, replicas, expected):
    run = a_run(OUTAGE, kind=kind)
    run.journal.scales.append(msgspec.structs.replace(change(zero_at), before=1, after=0))
    run.journal.targets[PLAN.key] = [
        TargetVersion(at=zero_at, version="1", replicas=replicas, pods=replicas)
    ]
    assert left_at_zero_since(run, PLAN) == expected


@pytest.mark.parametrize(
    ("backup_at", "replicas", "expected"),
    [
        pytest.param(200.5, 0, 260.0, id="before the condition is written"),
        pytest.param(201.5, 0, None, id="after the condition is written"),
        pytest.param(199.5, 0, None, id="before the zero"),
        pytest.param(200.5, 1, None, id="not at zero"),
    ],
)
def test_a_zero_that_a_restore_brings_back_without_its_condition_stays(
    backup_at, replicas, expected
):
    run = a_run()
    zero = msgspec.structs.replace(change(200.0), before=1, after=0)
    run.journal.scales += [zero, msgspec.structs.replace(change(230.0), before=0, after=8)]
    run.journal.statuses.append(
        StatusWritten(at=201.0, process="scaler-a.1", key=PLAN.key, bytes=1)
    )
    run.journal.restores.append(Restored(at=260.0, backup_at=backup_at))
    run.journal.targets[PLAN.key] = [
        TargetVersion(at=260.0, version="1", replicas=replicas, pods=replicas)
    ]
    assert left_at_zero_since(run, PLAN) == expected
