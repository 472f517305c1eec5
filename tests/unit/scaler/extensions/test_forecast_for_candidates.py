"""A load is learned once: the floor of the forecast that acts applies to a candidate too."""

import pytest

from scaler.algorithm.readings import ExternalValues
from scaler.api.autoscaler import Behavior, CandidateSpec
from scaler.api.candidate import CandidateStep
from tests.unit.scaler.extensions.forecast.expected_forecasts import forecasting
from tests.unit.scaler.extensions.test_forecast import decision
from tests.unit.scaler.objects import at_most, average, external, named, replaced, rules

ONE_MORE = Behavior(scale_up=rules(at_most("Pods", 1, 60)), scale_down=rules())


@pytest.mark.parametrize(
    ("fields", "wants"),
    [
        pytest.param({}, 7, id="the same"),
        pytest.param({"behavior": ONE_MORE}, 6, id="its policies limit the forecast"),
        pytest.param(
            {"metrics": (named(external(average("5")), "load"),)}, 10, id="it has more already"
        ),
    ],
)
def test_a_candidate_has_the_floor_of_the_forecast_too(fields, wants):
    steps = (CandidateStep(weight_percent=100, hold_seconds=60),)
    of = replaced(forecasting(), candidate=CandidateSpec(steps=steps, **fields))
    readings = [ExternalValues((50_000,))] * (2 if "metrics" in fields else 1)
    found = decision(of, 50, 70.0, readings=readings)
    step = found.derivation.steps["candidate"]
    assert (step.spec_desired, step.desired) == (7, wants)
