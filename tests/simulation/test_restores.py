"""What a restore of etcd to earlier versions leaves behind in the caches of the scaler: nothing."""

import pytest

from tests.simulation.__main__ import SCENARIOS
from tests.simulation.faults import Fault
from tests.simulation.restore_faults import EARLIER_VERSIONS
from tests.simulation.simulate import simulate

EDITED_AT_SECONDS = 100.0
RESTORED_AT_SECONDS = 130.0
BACKUP_AGE_SECONDS = 60.0


@pytest.mark.parametrize(("seed", "scenarios"), [(1, ""), (3, ""), (1, "hpas")])
def test_an_edit_that_a_restore_undoes_is_forgotten(seed: int, scenarios: str) -> None:
    scenario = SCENARIOS[scenarios](seed)
    edits = [
        Fault(
            kind="user", how="bounds", at=EDITED_AT_SECONDS, where=plan.key, amount=plan.max_replicas + 5,
        )
        for plan in scenario.autoscalers
    ]  # fmt: skip
    restore = Fault(
        kind="restore", at=RESTORED_AT_SECONDS, seconds=5.0, amount=BACKUP_AGE_SECONDS, how="refused",
        where=EARLIER_VERSIONS,
    )  # fmt: skip
    verdict = simulate(seed, [*edits, restore], scenario=scenario)
    assert [str(each) for each in verdict.violations] == []
