"""How a status shows what a resource uses: upstream's own cases, and the ones that read oddly."""

import pytest

from scaler.algorithm.from_pods import resource_quantity


@pytest.mark.parametrize(
    ("resource", "value_milli", "text"),
    [
        pytest.param("memory", 1_024_000, "1Ki", id="memory in Ki"),
        pytest.param("memory", 1_024_000_000, "1000Ki", id="memory in many Ki"),
        pytest.param("cpu", 100, "100m", id="a tenth of a core"),
        pytest.param("cpu", 1, "1m", id="the smallest"),
        pytest.param("custom-resource", 200, "200m", id="anything else is decimal"),
        pytest.param("memory", 1_000_000, "1k", id="below 1024 bytes it is decimal"),
        pytest.param("memory", 1_500, "1500m", id="a part of a byte"),
        pytest.param("memory", 1_500_000, "1500", id="no multiple of 1024"),
        pytest.param("memory", 1_075_000_000_000, "1075M", id="as the API server reads 1075000000 back"),
        pytest.param("memory", -1_024_000, "-1Ki", id="negative"),
        pytest.param("memory", 0, "0", id="nothing"),
    ],
)  # fmt: skip
def test_memory_is_binary_and_anything_else_decimal(resource, value_milli, text):
    assert resource_quantity(resource, value_milli) == text
