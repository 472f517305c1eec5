"""A time zone that is not in the database, and what happens to a forecast that was learned before."""

from scaler.algorithm.decision import NotNeeded
from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settle import settle
from tests.unit.scaler.extensions.forecast.expected_forecasts import LA, expecting, forecasting
from tests.unit.scaler.objects import NOW, decided, observed

LOAD = ExternalValues((50_000,))


def decision(time_zone, memory, now):
    of = forecasting(time_zone=time_zone)
    return decided(observed(of, replicas=5), (LOAD,), memory=memory, settings=LA, now=now)


def message(found):
    conditions = settle(found, NotNeeded(), NOW).status.conditions
    (reliable,) = [each for each in conditions if each.type == "ForecastReliable"]
    return reliable.message


def test_an_unknown_time_zone_is_named_and_what_was_learned_is_kept():
    found = decision("Europe/Atlantis", expecting(forecasting(), 70.0), NOW)
    assert found.desired_replicas == 5
    assert message(found).startswith(
        "the metric load cannot be forecast: spec.forecast.timeZone: unknown time zone 'Europe/Atlantis'"
    )
    corrected = decision("Europe/Berlin", found.memory, NOW + 15)
    assert corrected.desired_replicas == 7
