"""The options of a request are read in a time that does not grow with the square of their length, or are refused."""

import pytest

from adapter.documents.listoptions import (
    SELECTOR_COMMAS_MAX,
    SELECTOR_LENGTH_MAX,
    check_timeout,
    read_selector,
)
from adapter.documents.paths import custom_metric
from wire.api.status import StatusError
from wire.serving.http_connection import ConnectionLimits
from wire.serving.request_path import PATH_LENGTH_MAX


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("9" * 300_000, "time: missing unit in duration", id="digits"),
        pytest.param("9" * 300_000 + "x", 'time: unknown unit "x" in duration', id="a unit"),
        pytest.param("9" * 300_000 + "..", "time: invalid duration", id="nothing that it may be"),
        pytest.param("1.", "time: missing unit in duration", id="a dot at the end"),
        pytest.param("1.5y", 'time: unknown unit "y" in duration', id="a fraction"),
    ],
)
def test_a_timeout_of_any_length_is_refused_as_by_go(text, complaint):
    """With alternatives for the same digits this would take minutes."""
    with pytest.raises(StatusError) as refused:
        check_timeout([("timeout", text)])
    assert complaint in refused.value.message


@pytest.mark.deviation("selector-size")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a=" + "b" * SELECTOR_LENGTH_MAX, id="long"),
        pytest.param("a," * (SELECTOR_COMMAS_MAX + 1), id="many requirements"),
    ],
)
def test_a_label_selector_that_is_too_large_is_refused(text):
    path = "namespaces/shop/pods/web-0/rps"
    for parameter in ("labelSelector", "metricLabelSelector"):
        with pytest.raises(StatusError, match=f"the {parameter} has .* are read") as refused:
            custom_metric(path, [(parameter, text)])
        assert refused.value.code == 400


def test_the_longest_label_selector_fits_into_a_target_if_each_character_is_escaped():
    assert ConnectionLimits().target_bytes_max > PATH_LENGTH_MAX + 3 * SELECTOR_LENGTH_MAX


def test_a_label_selector_of_the_largest_size_is_read():
    text = ",".join(f"k{number}=v" for number in range(SELECTOR_COMMAS_MAX))
    assert read_selector([("labelSelector", text)]).matches({"k0": "v"}) is False
