"""When the adapter is ready while series cannot be listed."""

import pytest

from adapter.config import parse
from tests.unit.adapter.fetch.canned import answer
from tests.unit.adapter.runtime.test_activation import RULES

DOWN = answer(
    {"status": "error", "errorType": "internal", "error": "down"}, "500 Internal Server Error"
)
LISTED = "externalRules:\n- {seriesQuery: one, metricsQuery: one}\n"


@pytest.mark.parametrize(
    ("rules", "is_ready"),
    [
        pytest.param(LISTED, False, id="nothing else can be served"),
        pytest.param(f"{LISTED}metrics:\n- {{name: queue, query: 'sum(queue)'}}\n", True, id="named metrics"),
        pytest.param(f"{LISTED}{RULES}", True, id="metrics.k8s.io"),
    ],
)  # fmt: skip
async def test_a_failing_listing_does_not_keep_back_what_needs_none(
    activator, server, rules, is_ready
):
    server.says = DOWN
    await activator.activate(parse(rules))
    await activator.catalog.tried()
    assert (activator.problem is None) is is_ready


async def test_an_adapter_that_was_ready_stays_ready_after_a_reload_whose_series_cannot_be_listed(
    activator, server
):
    server.says = answer({"status": "success", "data": [{"__name__": "one"}]})
    await activator.activate(parse(LISTED))
    await activator.catalog.tried()
    assert activator.problem is None
    server.says = DOWN
    await activator.activate(parse(LISTED.replace("one", "two")))
    assert activator.catalog.problem is not None
    assert activator.problem is None
