"""Which tolerance holds for which direction."""

import pytest

from scaler.model.autoscaler import Behavior
from scaler.model.settings import Settings
from scaler.recommend.tolerances import tolerances_of
from tests.unit.scaler.objects import rules, spec

UP_ONLY = Behavior(scale_up=rules(tolerance="570m"), scale_down=rules())


@pytest.mark.parametrize(
    ("behavior", "settings", "down", "up"),
    [
        pytest.param(None, Settings(tolerance=0.2), 0.2, 0.2, id="the flag"),
        pytest.param(UP_ONLY, Settings(), 0.1, 0.5700000000000001, id="one direction, as Go computes 570m"),
        pytest.param(UP_ONLY, Settings(configurable_tolerance=False), 0.1, 0.1, id="gate off"),
        pytest.param(Behavior(scale_down=rules(tolerance="0")), Settings(), 0.0, 0.1, id="zero is a tolerance"),
        pytest.param(Behavior(), Settings(), 0.1, 0.1, id="behavior without rules"),
    ],
)  # fmt: skip
def test_a_direction_may_have_its_own_tolerance(behavior, settings, down, up):
    found = tolerances_of(spec(behavior=behavior), settings)
    assert (found.scale_down, found.scale_up) == (down, up)
