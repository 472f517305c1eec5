"""Does the actions of one trace of the model with real replicas, and compares what they have written."""

import asyncio

from tests.conformance.scaler_protocol.replayed_replica import (
    PERIOD_SECONDS,
    TICK_SECONDS,
    TIMES,
    WINDOW_SECONDS,
    Replica,
)
from tests.conformance.scaler_protocol.replayed_server import SHARDS, Server

NUMBERS = range(5)


async def settled():
    """Every task waits for something that only the trace gives it."""
    while asyncio.get_running_loop()._ready:  # noqa: ASYNC110
        await asyncio.sleep(0)


class Replay:
    """The server, the replicas, and the wall clock."""

    def __init__(self):
        self.server = Server()
        self.wall_seconds = 1_800_000_000.0
        self.times = [self.wall_seconds]
        self.replicas = {
            name: Replica(self.server, name, lambda: self.wall_seconds) for name in "abc"
        }
        self.identities = {}
        self.before = {}
        self.model = {}

    async def do(self, step):
        self.before, self.model = self.model, {**self.model, **step}
        await settled()
        name, replica, *choice = step["did"]
        await getattr(self, f"do_{name.lstrip('_')}")(self.replicas[replica], *choice)
        await settled()

    # scaler/cluster/shards

    async def do_joined(self, replica, outcome="ok"):
        own = [replica.name, self.model["identity"][replica.name]]
        is_renewed = own in self.before.get("member", {}).values()
        await self._listed(replica)
        kinds = [each for each in replica.connection.held if each.startswith("claim member")]
        # One that it holds already is renewed, which is answered at once.
        assert len(kinds) == (not is_renewed), kinds
        for kind in kinds:
            await self._resolve(replica, kind, outcome)

    async def do_joined_unanswered(self, replica):
        await self.do_joined(replica, "unanswered")

    async def do_once(self, replica):
        gone = self.model["todo"]["members"]
        own_past = [[replica.name, n] for n in range(1, self.before["identity"][replica.name])]
        if any(self.before["member"][str(n)] not in own_past for n in gone):
            await self._lease_seconds_pass(replica)
        await self._listed(replica)
        released = {each for each in replica.connection.held if each.startswith("release member")}
        expected = {f"release member {number}" for number in gone}
        assert released == expected, (released, expected)

    async def do_release_members(self, replica):
        await self._resolve_all(replica, "release member")

    async def do_give_up(self, replica, released="ok"):
        await self._resolve_all(replica, "release", released)
        if not self.model["todo"]["claim"]:
            # The model forgets what conflicts; the real code sends it.
            await self._resolve_all(replica, "claim")

    async def do_give_up_unreleased(self, replica):
        await self.do_give_up(replica, "lost")

    async def do_give_up_unstored(self, replica):
        if replica.name in self.before["storing"]:
            await self._resolve(replica, "memory", "late")
        while "memory" in replica.connection.held:
            await self._resolve(replica, "memory", "lost")
        await self.do_give_up(replica)

    async def do_claim(self, replica, shard=None, outcome="ok"):
        for kind in [each for each in replica.connection.held if each.startswith("claim")]:
            await self._resolve(replica, kind, outcome if kind == f"claim {shard}" else "ok")

    async def do_claim_unanswered(self, replica, shard):
        await self.do_claim(replica, shard, "unanswered")

    async def do_claim_late(self, replica, shard):
        await self.do_claim(replica, shard, "late")

    async def do_claim_arrives(self, replica):
        kind = f"claim {self.before['late'][replica.name]}"
        late = replica.connection.late.pop(kind, None) or replica.connection.held.pop(kind)
        self.server.carry_out(late.method, late.path, late.body)

    async def do_renew_fails(self, replica):
        for _ in range(2):
            replica.monotonic_seconds += 0.55 * TIMES.renew_deadline_seconds
            replica.wake("shared renewal")
            await settled()

    async def do_lead(self, replica):
        replica.wake("renewal")

    async def do_stop(self, replica):
        replica.task.cancel()

    async def do_stopped(self, replica):
        await self._resolve_all(replica, "release member")
        await settled()
        assert replica.task.done()
        replica.is_alive = False

    async def do_crash(self, replica):
        replica.is_alive = False

    async def do_dropped(self, replica):
        replica.connection.late.clear()
        if not replica.is_alive:
            replica.connection.held.clear()

    # scaler/control and scaler/cluster/memories

    async def do_reconcile(self, replica, _, recommended, until):
        tick = TICK_SECONDS[len(self.times) - 1]
        ended = self.times[until] + WINDOW_SECONDS + 0.25 if until else 0.0
        self.wall_seconds = max(self.wall_seconds + tick, ended)
        self.times.append(self.wall_seconds)
        await self._resolve_all(replica, "scalingmemories")
        replica.reconcile(recommended)

    async def do_rescale(self, replica, _):
        await self._resolve(replica, "decided")

    async def do_scaled(self, replica, _, outcome="ok"):
        await self._resolve(replica, "scale", outcome)

    async def do_rescale_unanswered(self, replica, _):
        is_applied = self.before["replicas"] != self.model["replicas"]
        await self.do_scaled(replica, _, "unanswered" if is_applied else "lost")

    async def do_flush(self, replica, _):
        """Once per period; at the end of the work, and before a shard is given up, it is done already."""
        if "memory" not in replica.connection.held:
            self._background = asyncio.create_task(replica.store.flush())
            await settled()
        # After a write that was carried out without a response, this one conflicts, and is sent again.
        while self.server.conflicts(replica.connection.held["memory"]):
            await self._resolve(replica, "memory")

    async def do_stored(self, replica, _, outcome="ok"):
        late = replica.connection.late.pop("memory", None)
        if late is not None:
            self.server.carry_out(late.method, late.path, late.body)
        else:
            await self._resolve(replica, "memory", outcome)

    async def do_store_unanswered(self, replica, _):
        is_applied = self.before["memory"] != self.model["memory"]
        await self.do_stored(replica, _, "unanswered" if is_applied else "lost")

    # What is compared

    def expected(self):
        model = self.model
        memory = model["memory"]["5"]
        return {
            "members": model["member"],
            "shards": model["shard"],
            "replicas": model["replicas"]["5"],
            "memory": None if not memory["replicas"] else self._current(memory, model["ended"]),
            "may write": {
                name: sorted(set(model["owned"][name]) - self._ending(name))
                if model["valid"][name]
                else []
                for name, replica in self.replicas.items()
                if replica.is_alive
            },
        }

    def state(self):
        return {
            "members": {str(n): self._identity(f"scaler-member-{n}") for n in NUMBERS},
            "shards": {str(s): self._identity(f"scaler-shard-{s:02}") for s in SHARDS},
            "replicas": self.server.replicas,
            "memory": self._memory(self.model["ended"]),
            "may write": {
                name: sorted(set(replica.may_write()) - self._ending(name))
                for name, replica in self.replicas.items()
                if replica.is_alive
            },
        }

    async def ended(self):
        tasks = [replica.task for replica in self.replicas.values()]
        for replica in self.replicas.values():
            replica.connection.is_cut = True
            for request in replica.connection.held.values():
                request.outcome.cancel()
            replica.task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ending(self, name):
        """Shards that are given up as soon as their memories are stored."""
        return set(self.model["ending"].get(name, ()))

    def _identity(self, name):
        """As the model has it: the replica, and how many identities it has had."""
        holder = self.server.holder(name)
        if not holder:
            return []
        replica = holder.partition("_")[0]
        known = self.identities.setdefault(replica, [])
        if holder not in known:
            known.append(holder)
        return [replica, known.index(holder) + 1]

    def _current(self, memory, ended):
        high = memory["high"] if memory["high"] > ended else 0
        return {"high": high, "last": memory["last"], "replicas": memory["replicas"]}

    def _memory(self, ended):
        history = self.server.history()
        if history is None:
            return None
        steps = sorted(history["recommendations"], key=lambda each: each["untilUnixSeconds"])
        high = max(
            (self._number(each["untilUnixSeconds"]) for each in steps if each["replicas"] == 2),
            default=0,
        )
        memory = {"high": high, "last": steps[-1]["replicas"], "replicas": history["replicas"]}
        return self._current(memory, ended)

    def _number(self, until_seconds):
        """Of the reconcile at that time. What is restored lasted until a period before it."""
        return max(n for n, at in enumerate(self.times) if at - PERIOD_SECONDS <= until_seconds)

    async def _listed(self, replica):
        replica.wake("pass")
        await settled()
        await self._resolve(replica, "leases")

    async def _lease_seconds_pass(self, replica):
        for _ in range(3):
            replica.monotonic_seconds += TIMES.lease_seconds / 3
            for other in self.replicas.values():
                if other.is_alive and self.before["valid"][other.name]:
                    other.wake("shared renewal")
                    other.wake("renewal")
            await settled()

    async def _resolve_all(self, replica, prefix, outcome="ok"):
        while kinds := [each for each in replica.connection.held if each.startswith(prefix)]:
            for kind in kinds:
                await self._resolve(replica, kind, outcome)

    async def _resolve(self, replica, kind, outcome="ok"):
        request = replica.connection.held.pop(kind)
        if replica.is_alive:
            request.outcome.set_result(outcome)
            await settled()
        else:
            self.server.carry_out(request.method, request.path, request.body)
