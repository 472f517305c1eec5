"""With a period of its own that is longer, an autoscaler is due before when its spec changes with the time."""

import pytest

from tests.unit.scaler.control.test_period_limit import PERIOD_SECONDS, counts_within

# The runs begin at 08:00, in seconds 0.
SCHEDULE = {
    "name": "lunch", "timeZone": "UTC", "schedule": "5 8 * * *", "durationSeconds": 180, "minReplicas": 8,
}  # fmt: skip
BEGIN, END = 300, 480


def low(_):
    """A load of three replicas, which they have."""
    return 30


async def test_the_bounds_of_a_schedule_apply_when_it_begins_and_end_with_it():
    """Not up to an hour later, after which the next regular reconcile comes."""
    counts, reconciled = await counts_within(600, low, streams=False, schedules=[SCHEDULE])
    assert counts[BEGIN - 2 : BEGIN + 1] == [3, 8, 8]
    assert reconciled == [1, BEGIN, END]


async def test_on_a_ramp_it_is_reconciled_in_every_period_of_the_scaler():
    counts, reconciled = await counts_within(
        400, low, streams=False, schedules=[SCHEDULE | {"rampSeconds": 60}]
    )
    first = BEGIN - 60
    assert reconciled == [1, *range(first, BEGIN, PERIOD_SECONDS), BEGIN]
    assert (counts[first], counts[BEGIN - 1]) == (3, 8)


@pytest.mark.parametrize("direction", ["Up", "Both"])
async def test_what_a_suspension_holds_back_follows_when_it_ends(direction):
    suspend = {"until": "2027-01-15T08:05:00Z"}
    if direction != "Both":
        suspend["direction"] = direction
    counts, reconciled = await counts_within(310, lambda _: 50, streams=False, suspend=suspend)
    assert reconciled == [1, BEGIN]
    assert counts[BEGIN - 2 : BEGIN] == [3, 5]


async def test_an_end_that_has_passed_brings_nothing_forward():
    _, reconciled = await counts_within(
        600, low, streams=False, suspend={"until": "2027-01-15T07:00:00Z"}
    )
    assert reconciled == [1]
