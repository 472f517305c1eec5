"""How well a replay reproduces what was recorded."""

from array import array

import pytest

from kubectl_loadline.backtest.comparison import Played, fidelity
from kubectl_loadline.backtest.fidelity import Fidelity
from kubectl_loadline.backtest.recording import Recording
from tests.unit.kubectl_loadline.backtest.test_closed_form import REQUESTS, START, scenario
from tests.unit.scaler.objects import autoscaler, spec


def found(replayed, recorded):
    within = scenario(
        {"load": [40] * len(recorded), "replicas": recorded}, autoscaler(spec(REQUESTS))
    )
    times = array("q", range(START, START + 60 * len(replayed), 60))
    counts = array("q", replayed)
    played = Played(
        name="one",
        start_up_seconds=0,
        times=times,
        requested=counts,
        ready=counts,
        bounds=array("d"),
    )
    return fidelity(played, within)


@pytest.mark.parametrize(
    ("replayed", "recorded", "within_one_percent", "mean_error"),
    [
        pytest.param([4, 5, 6, 6], [4, 5, 6, 6], 100, 0, id="the same"),
        pytest.param([5, 6, 6, 6], [4, 5, 6, 6], 100, 0, id="recorded at the next step"),
        pytest.param([5, 5, 5, 5], [4, 4, 4, 4], 100, 1, id="one more"),
        pytest.param([4, 4, 9, 4], [4, 4, 4, 4], 75, 1.25, id="five more once"),
    ],
)
def test_fidelity_is_the_time_within_one_replica(
    replayed, recorded, within_one_percent, mean_error
):
    assert found(replayed, recorded) == Fidelity(within_one_percent=within_one_percent, mean_error=mean_error)  # fmt: skip


def test_without_recorded_replicas_it_is_unknown():
    assert found([4], [None]) is None
    assert Recording(step_seconds=60, series={}).replicas is None


def test_from_90_percent_on_the_results_need_no_warning():
    assert Fidelity(within_one_percent=90, mean_error=1).is_trusted
    assert not Fidelity(within_one_percent=89.9, mean_error=0).is_trusted
