"""What `/version` says that a server offers."""

import pytest

from wire.api.offers import METRIC_STREAM, offers_in


def test_the_names_that_a_server_offers_are_compared_as_they_are():
    found = offers_in(b'{"gitVersion":"v1","offers":["loadline.io/metric-stream/v1","other/v7"]}')
    assert found == {METRIC_STREAM, "other/v7"}


@pytest.mark.parametrize(
    "version",
    [
        pytest.param(b'{"major":"1","minor":"37","gitVersion":"v1.37.0"}', id="Kubernetes"),
        pytest.param(b"<html>", id="a page"),
        pytest.param(b'{"offers":"loadline.io/metric-stream/v1"}', id="not a list"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_another_server_offers_nothing(version):
    assert offers_in(version) == frozenset()
