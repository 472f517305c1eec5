"""What the API server would have filled in."""

from scaler.model.autoscaler import Behavior, ScalingRules
from scaler.model.settings import Settings
from scaler.normalize.rules import scale_down_rules, scale_up_rules
from tests.unit.scaler.objects import at_most, rules

DOUBLE = at_most("Percent", 100, 15)
SETTINGS = Settings(downscale_stabilization_seconds=90.5)


def test_nothing_given_means_fast_up_and_slow_down():
    up, down = scale_up_rules(Behavior()), scale_down_rules(Behavior(), SETTINGS)
    assert (up.window_seconds, up.select_policy) == (0, "Max")
    assert up.policies == (at_most("Pods", 4, 15), DOUBLE)
    assert (down.window_seconds, down.select_policy) == (90, "Max")
    assert down.policies == (DOUBLE,)


def test_what_is_given_stays():
    given = rules(at_most("Pods", 1, 1800), window_seconds=7, select="Min")
    for found in (
        scale_up_rules(Behavior(scale_up=given)),
        scale_down_rules(Behavior(scale_down=given), SETTINGS),
    ):
        assert (found.window_seconds, found.select_policy) == (7, "Min")
        assert found.longest_period_seconds == 1800


def test_a_given_field_does_not_hide_the_defaults_of_the_others():
    down = scale_down_rules(Behavior(scale_down=ScalingRules(select_policy="Min")), SETTINGS)
    assert (down.window_seconds, down.policies) == (90, (DOUBLE,))
