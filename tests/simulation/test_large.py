"""A small edition of the large scenario, and a planted fault for each kind of wrong write."""

from collections.abc import Sequence

import msgspec

from tests.simulation import large
from tests.simulation.network import Request
from tests.simulation.tampering import HidesMembers, RepeatsWrites, Tamper

OBJECTS = 40


def measured(tamper: Tamper | None = None) -> large.Measured:
    return large.run(large.scenario(OBJECTS, kills=1), tamper=tamper)


def test_replicas_that_are_killed_in_turn_reconcile_every_object_and_write_each_change_once() -> (
    None
):
    found = measured()
    assert large.problems(found) == []
    assert found.taken_over > 0
    assert set(found.writes) == {"scaler-a", "scaler-b", "scaler-c"}


class NothingIsWritten(Tamper):
    """No write of a scale reaches the API server."""

    def request(self, request: Request) -> Sequence[Request]:
        return [] if request.method == "PUT" and request.parts[-1] == "scale" else [request]


def test_wrong_writes_are_found() -> None:
    found = measured(RepeatsWrites())
    assert found.repeated > 0
    assert found.by_others > 0
    assert measured(NothingIsWritten()).wrong_at_the_end > 0


def test_late_reconciles_are_found() -> None:
    good = large.Measured(
        objects=1, reconciles=1, gap_max=15.0, move_max=20.0, take_over_max=30.0, taken_over=1, never_reconciled=0,
        writes={}, repeated=0, by_others=0, wrong_at_the_end=0, crashes=0,
    )  # fmt: skip
    assert large.problems(good) == []
    assert large.problems(measured(HidesMembers())), "nothing is taken over"
    for late in ("gap_max", "move_max", "take_over_max"):
        assert len(large.problems(msgspec.structs.replace(good, **{late: 99.0}))) == 1
