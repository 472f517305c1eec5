"""The knob of a load is chosen on all others."""

import pytest

from benchmarks.frontier.left_out import chosen, left_out

CAREFUL = {"5%": [-10.0, -12.0], "20%": [-15.0, -14.0]}
GENEROUS = {"5%": [-20.0, -22.0], "20%": [-80.0, -70.0]}
HARMED = {"5%": [0.5, 0.0], "20%": [4.0, 3.0]}


def test_the_knob_with_the_lowest_median_is_chosen():
    assert chosen([CAREFUL, GENEROUS]) == "20%"


def test_a_knob_that_makes_a_load_worse_by_more_than_one_percent_is_not_chosen():
    assert chosen([CAREFUL, GENEROUS, HARMED]) == "5%"


def test_the_least_bad_knob_is_chosen_where_each_makes_a_load_worse():
    assert chosen([{"5%": [3.0], "20%": [9.0]}, {"5%": [-1.0], "20%": [-50.0]}]) == "5%"


def test_a_knob_that_a_load_does_not_have_is_not_chosen():
    assert chosen([GENEROUS, {"5%": [-1.0]}]) == "5%"
    with pytest.raises(ValueError, match="no knob in common"):
        chosen([GENEROUS, {"10%": [-1.0]}])


def test_a_load_has_no_say_in_its_own_knob():
    found = {each.load: each for each in left_out({"a": CAREFUL, "b": GENEROUS, "c": HARMED})}
    assert found["c"].knob == "20%"
    assert found["c"].changes == (4.0, 3.0)
    assert found["a"].knob == found["b"].knob == "5%"


def test_a_single_load_has_no_others():
    assert left_out({"a": CAREFUL}) == []
