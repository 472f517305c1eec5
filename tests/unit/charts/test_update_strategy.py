"""The adapter chart: the update strategy of the Deployment. For the scaler chart, see `test_leader_election`."""

import pytest

ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
"""The defaults of Kubernetes. Server-side apply removes only what was applied, so they must be, for a change to Recreate."""


@pytest.mark.parametrize(
    ("given", "applied"),
    [
        pytest.param({}, ROLLING, id="default"),
        pytest.param(None, ROLLING, id="null"),
        pytest.param({"type": "RollingUpdate"}, ROLLING, id="type"),
        pytest.param({"type": "Recreate"}, {"type": "Recreate"}, id="stops first"),
        pytest.param(
            {"type": "Recreate", "rollingUpdate": {"maxSurge": "25%"}},
            {"type": "Recreate"},
            id="stops first, with the defaults of prometheus-adapter's chart",
        ),
        pytest.param(
            {"rollingUpdate": {"maxSurge": 0}},
            {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
            id="zero",
        ),
    ],
)
def test_the_update_strategy_is_one_that_kube_apiserver_accepts(adapter, given, applied):
    """It refuses `rollingUpdate` with Recreate."""
    rendered = adapter.render({"strategy": given})
    assert rendered.one("Deployment")["spec"]["strategy"] == applied
