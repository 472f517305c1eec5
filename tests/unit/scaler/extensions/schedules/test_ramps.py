"""The bounds of several schedules, some of which are on a ramp."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaler.extensions.schedules.ramps import Active, cap_of, floor_of


def schedules(*bounds: tuple[int, float]) -> list[Active]:
    return [
        Active(name=f"s{index}", share=share, min_replicas=bound, max_replicas=bound)
        for index, (bound, share) in enumerate(bounds)
    ]


@pytest.mark.parametrize(
    ("bounds", "cap"),
    [
        pytest.param([(80, 0.5)], 60, id="one ramp, half way from 40"),
        pytest.param([(20, 0.25)], 35, id="one ramp, downwards"),
        pytest.param([(60, 1.0), (80, 0.0)], 60, id="another one has raised it: at the beginning"),
        pytest.param([(60, 1.0), (80, 0.1)], 60, id="another one has raised it: on the ramp"),
        pytest.param([(60, 1.0), (80, 1.0)], 60, id="both in full: the smaller one"),
        pytest.param([(80, 1.0), (60, 0.5)], 70, id="a smaller one approaches from the larger one"),
        pytest.param([(60, 0.5), (80, 0.1)], 52, id="two ramps upwards"),
        pytest.param([(60, 0.3), (60, 0.3)], 51, id="rounded up, from 50.2"),
        pytest.param([(43, 1 / 3)], 41, id="an exact count is not rounded up"),
    ],
)
def test_the_largest_number_of_replicas_is_approached_from_what_applies_without_the_ramp(
    bounds, cap
):
    assert cap_of(schedules(*bounds), 40) == cap


@pytest.mark.parametrize(
    ("bounds", "floor"),
    [
        pytest.param([(10, 0.5)], 6, id="one ramp, half way from 2"),
        pytest.param([(10, 1.0), (6, 0.5)], 10, id="a smaller one changes nothing"),
        pytest.param([(6, 1.0), (10, 0.5)], 8, id="a larger one approaches from the smaller one"),
    ],
)
def test_the_smallest_number_of_replicas_is_approached_from_what_applies_without_the_ramp(
    bounds, floor
):
    assert floor_of(schedules(*bounds), 2) == floor


def test_a_schedule_that_leaves_a_bound_as_it_is_does_not_set_it():
    only_max = Active(name="s", share=1.0, min_replicas=None, max_replicas=9)
    assert (floor_of([only_max], 2), cap_of([only_max], 40)) == (None, 9)


BOUND = st.integers(1, 100)
SHARE = st.floats(0.0, 1.0)


@given(of_spec=BOUND, bounds=st.lists(st.tuples(BOUND, SHARE), min_size=1, max_size=4))
def test_the_bound_is_the_mean_over_which_schedules_apply_by_their_shares(of_spec, bounds):
    """So it is exact where all shares are 0 or 1, and changes by no step in between."""
    mean = 0.0
    for applies in product((True, False), repeat=len(bounds)):
        chance = math.prod(
            share if each else 1 - share for (_, share), each in zip(bounds, applies, strict=True)
        )
        caps = [bound for (bound, _), each in zip(bounds, applies, strict=True) if each]
        mean += chance * min(caps, default=of_spec)
    found = cap_of(schedules(*bounds), of_spec)
    assert found is not None
    assert mean - 1e-6 <= found < mean + 1 + 1e-6


@given(of_spec=BOUND, bounds=st.permutations([(60, 0.3), (80, 0.5), (20, 0.1), (60, 0.7)]))
def test_the_order_of_the_schedules_does_not_matter(of_spec, bounds):
    assert cap_of(schedules(*bounds), of_spec) == cap_of(schedules(*sorted(bounds)), of_spec)
