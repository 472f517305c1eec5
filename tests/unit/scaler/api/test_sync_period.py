"""Which periods count."""

import pytest

from scaler.api.sync_period import own_period_seconds
from tests.unit.scaler.objects import replaced, spec


@pytest.mark.parametrize(
    ("written", "period_seconds"),
    [(None, None), (1, 1), (3600, 3600), (0, 1), (-5, 1), (2**70, 3600)],
)
def test_a_period_that_the_definition_does_not_allow_is_the_nearest_one_that_it_does(
    written, period_seconds
):
    assert own_period_seconds(replaced(spec(), sync_period_seconds=written)) == period_seconds
