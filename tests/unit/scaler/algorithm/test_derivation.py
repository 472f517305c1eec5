"""How a decision was derived, as it is shown."""

import pytest

from scaler.algorithm.derivation import MetricDerivation, value_for_target


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({"value_milli": 1500}, 1.5, id="a value"),
        pytest.param({"average_milli": 250}, 0.25, id="an average"),
        pytest.param({"value_milli": 1500, "average_milli": 250}, 1.5, id="both"),
        pytest.param({"average_milli": 250, "utilization_percent": 80}, 80.0, id="a utilization"),
        pytest.param({}, None, id="none"),
    ],
)
def test_the_value_of_a_metric_has_the_unit_of_its_target(values, expected):
    assert value_for_target(MetricDerivation(type="External", **values)) == expected
