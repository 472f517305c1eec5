"""A scaler that is limited to namespaces starts although it may not list in one of them, as after its deletion."""

import asyncio
import json
import logging
import random

import pytest

from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.cluster.shards.assignment import ALL_SHARDS
from scaler.runtime.watches import Watches
from tests.fakes import virtual_time
from tests.unit.scaler.cluster.memories.server import Server
from tests.unit.scaler.control.world import SPEC
from tests.unit.scaler.runtime.replica import ListedHpas, Replica
from tests.unit.scaler.runtime.test_watches import SilentServer
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


class BothKinds(SilentServer):
    """One LoadAutoscaler and one HPA in `bank` on the same target. `refuses` says which paths may not be listed."""

    def __init__(self, refuses):
        super().__init__()
        self.refuses = refuses

    async def get(self, path, params=None, *, accept=""):
        if self.refuses(path):
            raise forbidden("no Role")
        if "/bank/" not in path or not path.endswith("autoscalers"):
            return await super().get(path, params, accept=accept)
        metadata = {"namespace": "bank", "name": "web", "uid": path, "resourceVersion": "1"}
        items = [{"metadata": metadata, "spec": SPEC}]
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": items}).encode()


def rivals_when_complete(server, *, refuses_later):
    """What else scales the target when `bank` is complete, which could not be listed for five minutes."""

    async def scenario():
        watches = Watches(
            server, LOAD_AUTOSCALERS, ("shop", "bank"), on_change=lambda *_: None, on_crash=lambda: None,
            monotonic=asyncio.get_running_loop().time,
        )  # fmt: skip
        tasks = [asyncio.create_task(each.run()) for each in watches.caches]
        await watches.synced()
        assert watches.late_namespaces() == ["bank"]
        await virtual_time.passes(300)
        server.refuses = refuses_later
        await watches.completed("bank")
        assert watches.is_complete("bank")
        assert watches.late_namespaces() == []
        autoscaler = watches.autoscalers.get("bank/web")
        found = watches.rivals.of(autoscaler, LOAD_AUTOSCALERS.kind)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return found

    return virtual_time.run(scenario())


@pytest.mark.parametrize("seed", range(20))
def test_an_hpa_of_a_namespace_that_is_listed_late_is_known_before_its_target_is_scaled(seed):
    """Each list is repeated at a time of its own."""
    random.seed(seed)
    server = BothKinds(lambda path: "/bank/" in path)
    rivals = rivals_when_complete(server, refuses_later=lambda _: False)
    assert rivals == ("HorizontalPodAutoscaler bank/web",)


def test_hpas_that_may_not_be_listed_later_either_are_not_waited_for(caplog):
    server = BothKinds(lambda path: "/bank/" in path)
    rivals = rivals_when_complete(
        server, refuses_later=lambda path: path.endswith("/bank/horizontalpodautoscalers")
    )
    assert rivals == ()
    assert "a target that an HPA scales too will not be detected" in caplog.text
