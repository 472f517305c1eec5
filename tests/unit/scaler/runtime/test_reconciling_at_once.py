"""Which changes of an autoscaler are reconciled before the end of the period."""

import functools

import pytest

from scaler.algorithm.settings import Settings
from scaler.api.upstream import NEWEST
from scaler.cluster.shards.assignment import ALL_SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server
from tests.unit.scaler.runtime.replica import PERIOD_SECONDS, Replica


@pytest.mark.deviation("steady-period")
@pytest.mark.parametrize(("minor", "is_at_once"), [(36, False), (37, True)])
def test_a_new_autoscaler_is_reconciled_at_once_since_1_37_and_then_at_its_own_moment(
    minor, is_at_once
):
    async def scenario():
        replica = Replica(Server(), minor=minor)
        await replica.begin(ALL_SHARDS)
        await replica.reconciles()
        at = await replica.times_of("shop/new", lambda: replica.hpas.create("shop", "new"), 32)
        assert (at[0] < 0.1) is is_at_once
        first_regular = at[1] if is_at_once else at[0]
        assert 0 < first_regular < PERIOD_SECONDS * 1.1
        assert at[-1] - first_regular == pytest.approx(PERIOD_SECONDS)
        await replica.stop()

    virtual_time.run(scenario())


@pytest.mark.parametrize(
    ("minor", "generation", "is_at_once"),
    [
        pytest.param(36, 2, False, id="a changed spec, before 1.37"),
        pytest.param(37, 2, True, id="a changed spec"),
        pytest.param(37, 1, False, id="a changed label, or an equal value in another form"),
    ],
)
def test_a_changed_spec_is_reconciled_at_once_since_1_37_without_moving_the_period(
    minor, generation, is_at_once
):
    async def scenario():
        replica = Replica(Server(), minor=minor)
        replica.hpas.update("shop", "new", generation=1)
        await replica.begin(ALL_SHARDS)
        await virtual_time.passes(PERIOD_SECONDS)
        usual = await replica.times_of("shop/new", lambda: None, PERIOD_SECONDS)
        edit = functools.partial(
            replica.hpas.update, "shop", "new", generation=generation, team="b"
        )
        at = await replica.times_of("shop/new", edit, PERIOD_SECONDS)
        assert at == [*([0.0] if is_at_once else []), *usual]
        await replica.stop()

    virtual_time.run(scenario())


def test_without_the_gate_of_generations_only_new_autoscalers_are_reconciled_at_once():
    async def scenario():
        replica = Replica(Server())
        without = {"keeps_generations": False}
        replica.settings = Settings(gated_traits=without).of_version(NEWEST)
        await replica.begin(ALL_SHARDS)
        await replica.reconciles()
        create = functools.partial(replica.hpas.update, "shop", "new", generation=1)
        edit = functools.partial(replica.hpas.update, "shop", "new", generation=2)
        assert (await replica.times_of("shop/new", create, PERIOD_SECONDS))[0] == 0.0
        assert (await replica.times_of("shop/new", edit, PERIOD_SECONDS))[0] > 0.0
        await replica.stop()

    virtual_time.run(scenario())


def test_a_spec_that_changes_while_it_is_reconciled_is_reconciled_again_once_that_has_ended():
    async def scenario():
        replica = Replica(Server())
        replica.hpas.update("shop", "new", generation=1)
        replica.is_slow = True
        await replica.begin(ALL_SHARDS)
        await replica.begins_to_reconcile("shop/new")
        replica.reconciled.clear()
        replica.hpas.update("shop", "new", generation=2)
        await virtual_time.passes(2.5)
        own = [each for each in replica.reconciled if each.startswith("shop/new")]
        assert own == ["shop/new ends", "shop/new begins"]
        await replica.stop()

    virtual_time.run(scenario())
