"""A scaler that is limited to namespaces starts although it may not list in one of them, as after its deletion."""

import asyncio
import json
import logging

import pytest

from scaler.cluster.shards.assignment import ALL_SHARDS
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server
from tests.unit.scaler.runtime.replica import ListedHpas, Replica
from wire.api.status import Unavailable, forbidden

HPAS, PODS = "horizontalpodautoscalers", "pods"
RESOURCES = pytest.mark.parametrize("resource", [HPAS, PODS])


class Cluster(ListedHpas):
    """The namespaces `shop` and `bank`, with one HPA each. A LIST of `failing`, by the end of its path, fails."""

    def __init__(self, **failing):
        super().__init__()
        self.failing = {f"/{each.replace('_', '/')}": error for each, error in failing.items()}

    async def get(self, path, params=None, *, accept=""):
        for end, error in self.failing.items():
            if path.endswith(end):
                raise error
        body = await super().get(path, params, accept=accept)
        if not path.endswith(HPAS):
            return body
        page = json.loads(body)
        page["items"] = [
            each for each in page["items"] if f"/{each['metadata']['namespace']}/" in path
        ]
        return json.dumps(page).encode()


class Limited(Replica):
    """A replica for both namespaces, and everything that it waits for."""

    def __init__(self, **failing):
        self.cluster = Cluster(**failing)
        super().__init__(Server(), hpas=self.cluster, namespaces=("shop", "bank"))
        self.late = asyncio.create_task(self.reconciling.completed())
        self.tasks.append(self.late)

    def checks(self):
        """The problems that /readyz shows, by check, and the names of those that fail it."""
        problems = {each.name: each.problem() for each in self.watches.checks()}
        fails = {each.name for each in self.watches.checks() if not each.informs}
        return problems, {name for name in fails if problems[name]}

    async def begins(self):
        async with asyncio.timeout(5):
            await self.reconciling.begin(ALL_SHARDS, continues=False)


def refused(resource):
    return {f"bank_{resource}": forbidden("no Role in namespace bank")}


@RESOURCES
def test_the_other_namespaces_are_reconciled(resource, caplog):
    async def scenario():
        replica = Limited(**refused(resource))
        with caplog.at_level(logging.WARNING):
            await replica.begins()
            assert await replica.reconciles() == {"shop/web"}
        assert [each.key for each in replica.reconciling.autoscalers()] == ["shop/web"]
        await replica.stop()

    virtual_time.run(scenario())
    (line,) = (each.message for each in caplog.records if "is not scaled" in each.message)
    assert line.startswith("namespace bank is not scaled: ")
    assert "no Role in namespace bank" in line
    assert "remove it from --namespace (watchNamespaces of the chart)" in line


@RESOURCES
def test_a_change_of_an_autoscaler_whose_namespace_cannot_be_listed_does_not_reconcile_it(resource):
    async def scenario():
        replica = Limited(**refused(resource))
        await replica.begins()
        replica.hpas.update("bank", "web", generation=3)
        assert await replica.reconciles() == {"shop/web"}
        await replica.stop()

    virtual_time.run(scenario())


@RESOURCES
def test_a_namespace_is_reconciled_as_soon_as_it_can_be_listed(resource):
    async def scenario():
        replica = Limited(**refused(resource))
        await replica.begins()
        await virtual_time.passes(1)
        replica.cluster.failing.clear()
        await virtual_time.passes(60)
        assert replica.late.done()
        assert await replica.reconciles() == {"shop/web", "bank/web"}
        assert replica.checks()[0]["namespaces"] is None
        await replica.stop()

    virtual_time.run(scenario())


@RESOURCES
def test_a_standby_does_not_reconcile_a_namespace_that_can_be_listed_later(resource):
    async def scenario():
        replica = Limited(**refused(resource))
        await virtual_time.passes(1)
        replica.cluster.failing.clear()
        await virtual_time.passes(60)
        assert replica.late.done()
        assert await replica.reconciles() == set()
        await replica.begins()
        assert await replica.reconciles() == {"shop/web", "bank/web"}
        await replica.stop()

    virtual_time.run(scenario())


@RESOURCES
def test_a_namespace_that_is_merely_not_available_is_waited_for(resource):
    """It may be so for all of them: nothing is scaled by a part of what there is."""

    async def scenario():
        replica = Limited(**{f"bank_{resource}": Unavailable("connection refused")})
        with pytest.raises(TimeoutError):
            await replica.begins()
        assert len(replica.checks()[1]) == 1
        await replica.stop()

    virtual_time.run(scenario())


@RESOURCES
def test_a_namespace_that_may_not_be_listed_is_shown_and_does_not_fail_readiness(resource):
    async def scenario():
        replica = Limited(**refused(resource))
        await replica.begins()
        problems, failed = replica.checks()
        assert failed == set()
        assert problems["namespaces"].startswith("namespace bank is not scaled: ")
        await replica.stop()

    virtual_time.run(scenario())


def test_a_scaler_that_may_list_in_no_namespace_is_not_ready():
    async def scenario():
        no = forbidden("no Role")
        replica = Limited(
            bank_horizontalpodautoscalers=no, shop_horizontalpodautoscalers=no,
            bank_pods=no, shop_pods=no,
        )  # fmt: skip
        await virtual_time.passes(5)
        assert replica.checks()[1] == {"autoscalers", "pods"}
        await replica.stop()

    virtual_time.run(scenario())
