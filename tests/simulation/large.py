"""One large scenario: three replicas share thousands of autoscalers, are killed one after the other, and their clocks differ.

It measures how long an autoscaler is not reconciled, and which replica writes.
"""

import random
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from tests.simulation.api_server import proposal
from tests.simulation.faults import Fault
from tests.simulation.journal import Journal, ScaleWritten
from tests.simulation.metrics_apis import EXTERNAL, UNITS_PER_REPLICA
from tests.simulation.scenario import REPLICAS, AutoscalerPlan, Scenario
from tests.simulation.simulate import kubeconfig
from tests.simulation.tampering import Tamper
from tests.simulation.workloads import Curve, Pace
from tests.simulation.world import World

OBJECTS = 10_000
OBJECTS_PER_NAMESPACE = 50
NAMESPACES_MIN = 12
PERIOD_SECONDS = 15.0
LEASE_SECONDS = 15.0
MAX_REPLICAS = 6
# The first minute: all replicas have joined and every autoscaler was reconciled.
FIRST_KILL_SECONDS = 75.0
KILL_EVERY_SECONDS = 75.0
KILLS = 3
CLOCK_DRIFT = 0.01
GAP_SECONDS_MAX = 1.1 * PERIOD_SECONDS
# A period of the replica that leaves, a read of the Leases (2.4 s), and 400 first reconciles per second of its share.
MOVE_SECONDS_MAX = 2 * PERIOD_SECONDS
TAKE_OVER_SECONDS_MAX = LEASE_SECONDS + PERIOD_SECONDS


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it. Times in seconds."""

    objects: int
    reconciles: int
    gap_max: float
    """The longest time between two reconciles of an object by the same process."""
    move_max: float
    """The longest time between the last reconcile by one process and the first by another one, which was not killed."""
    take_over_max: float
    """The longest time from the kill of the owner of an object to its next reconcile."""
    taken_over: int
    """Objects whose owner was killed, once for each time."""
    never_reconciled: int
    writes: dict[str, int]
    """PUTs of scales by replica."""
    repeated: int
    """Changes that were written twice: with the same count, or without a read since another replica's write."""
    by_others: int
    """Writes of a process that did not own the namespace."""
    wrong_at_the_end: int
    """Objects whose replicas are not what their load needs."""
    crashes: int


def scenario(objects: int = OBJECTS, *, seed: int = 0, kills: int = KILLS) -> Scenario:
    """So many autoscalers; the load of each changes twice."""
    rng = random.Random(f"large {seed}")
    calm_at = FIRST_KILL_SECONDS + kills * KILL_EVERY_SECONDS
    namespaces = max(NAMESPACES_MIN, objects // OBJECTS_PER_NAMESPACE)
    return Scenario(
        seed=seed, period=PERIOD_SECONDS, window=0.0, lease_seconds=LEASE_SECONDS, concurrent=20,
        autoscalers=tuple(_plan(rng, number, namespaces, calm_at) for number in range(objects)),
        replicas=(*REPLICAS, "scaler-c"), is_sharded=True, clock_drift=CLOCK_DRIFT,
        page_max=500, calm_at=calm_at, end=calm_at + 3 * PERIOD_SECONDS,
    )  # fmt: skip


def _plan(rng: random.Random, number: int, namespaces: int, calm_at: float) -> AutoscalerPlan:
    wanted = [rng.randint(1, MAX_REPLICAS) for _ in range(3)]
    times = (0.0, *sorted(rng.uniform(30.0, calm_at) for _ in range(2)))
    return AutoscalerPlan(
        namespace=f"team-{number % namespaces}", name=f"web{number}", min_replicas=1, max_replicas=MAX_REPLICAS,
        groups=(EXTERNAL,), up=None, down=None, replicas=wanted[0], pace=Pace(start=1.0, ready=2.0),
        load=Curve(times=times, values=tuple(each * UNITS_PER_REPLICA - 1.0 for each in wanted)),
    )  # fmt: skip


def faults(of: Scenario) -> tuple[Fault, ...]:
    """Each replica is killed in its turn, at a random moment; the wall clock of another one is stepped."""
    rng = random.Random(f"large faults {of.seed}")
    found = []
    kills = round((of.calm_at - FIRST_KILL_SECONDS) / KILL_EVERY_SECONDS)
    for number in range(kills):
        at = FIRST_KILL_SECONDS + number * KILL_EVERY_SECONDS + rng.uniform(0, of.period)
        who = of.replicas[number % len(of.replicas)]
        found.append(Fault(kind="kill", at=at, seconds=rng.uniform(1.0, 30.0), who=who))
        other = of.replicas[(number + 1) % len(of.replicas)]
        step = rng.choice((-60.0, -5.0, 5.0, 60.0))
        found.append(Fault(kind="clock-step", at=at - 5.0, who=other, amount=step))
    return tuple(sorted(found, key=lambda fault: fault.at))


def run(of: Scenario, *, tamper: Tamper | None = None) -> Measured:
    """Simulate it, and measure."""
    chosen = faults(of)
    world = World(of, chosen, kubeconfig(), tamper or Tamper())
    return measured(of, chosen, world.run(), world)


def measured(of: Scenario, chosen: Sequence[Fault], journal: Journal, world: World) -> Measured:
    """From the journal, and the replicas at the end."""
    reads: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for each in journal.target_requests:
        if each.is_write:
            continue
        reads[each.target].append((each.at, each.process))
    owners = _owners(journal)
    kills = [each for each in chosen if each.kind == "kill"]
    gaps, moves, take_overs = [0.0], [0.0], [0.0]
    for plan in of.autoscalers:
        moments = [at for at, _ in reads[plan.key]]
        own_kills = [each.at for each in kills if _owns(owners[plan.namespace], each)]
        take_overs += [_next(moments, at, of.end) - at for at in own_kills]
        for (before, one), (after, other) in pairwise(reads[plan.key]):
            if one == other:
                gaps.append(after - before)
            elif not any(before <= at <= after for at in own_kills):
                moves.append(after - before)
    return Measured(
        objects=len(of.autoscalers), reconciles=len(journal.measurements),
        gap_max=max(gaps), move_max=max(moves), take_over_max=max(take_overs), taken_over=len(take_overs) - 1,
        never_reconciled=sum(not reads[plan.key] for plan in of.autoscalers),
        writes=dict(Counter(each.process.partition(".")[0] for each in journal.scales)),
        repeated=sum(1 for _ in _repeated(journal.scales, reads)),
        by_others=sum(
            _owner(owners[each.target.partition("/")[0]], each.sent_at) != each.process
            for each in journal.scales
        ),
        wrong_at_the_end=sum(
            world.server.workloads[plan.key].replicas != proposal(plan.load.values[-1])
            for plan in of.autoscalers
        ),
        crashes=len(journal.crashes),
    )  # fmt: skip


def problems(found: Measured) -> list[str]:
    """What is not as promised; empty if all of it is."""
    limits = {
        "objects were never reconciled": (found.never_reconciled, 0),
        "s between two reconciles": (found.gap_max, GAP_SECONDS_MAX),
        "s between the reconciles of two replicas": (found.move_max, MOVE_SECONDS_MAX),
        "s from a kill to the next reconcile": (found.take_over_max, TAKE_OVER_SECONDS_MAX),
        "changes were written twice": (found.repeated, 0),
        "writes were not by the owner": (found.by_others, 0),
        "objects have the wrong replicas at the end": (found.wrong_at_the_end, 0),
        "tracebacks": (found.crashes, 0),
    }
    return [
        f"{value:g} {what}, at most {most:g}"
        for what, (value, most) in limits.items()
        if value > most
    ]


def described(found: Measured) -> Iterator[str]:
    """For the developer."""
    yield f"{found.objects} objects, {found.reconciles} reconciles"
    yield (
        f"longest time between two reconciles: {found.gap_max:.1f} s by the same replica, {found.move_max:.1f} s when a "
        f"namespace moves (period: {PERIOD_SECONDS:g} s)"
    )
    yield (
        f"longest time from the kill of the owner to the next reconcile: {found.take_over_max:.1f} s "
        f"({found.taken_over} take-overs of objects; lease and period: {LEASE_SECONDS + PERIOD_SECONDS:g} s)"
    )
    writes = ", ".join(f"{name} {count}" for name, count in sorted(found.writes.items()))
    yield f"PUTs of /scale: {writes}; the same change twice: {found.repeated}; not by the owner: {found.by_others}"
    yield from (f"NOT AS PROMISED: {each}" for each in problems(found))


_Owners = list[tuple[float, str]]


def _owners(journal: Journal) -> dict[str, _Owners]:
    found: dict[str, _Owners] = defaultdict(list)
    for each in journal.holders:
        found[each.namespace].append((each.at, each.process))
    return found


def _owner(owners: _Owners, at: float) -> str:
    index = bisect_right(owners, at, key=lambda each: each[0])
    return owners[index - 1][1] if index else ""


def _owns(owners: _Owners, kill: Fault) -> bool:
    return _owner(owners, kill.at).partition(".")[0] == kill.who


def _next(moments: list[float], at: float, end: float) -> float:
    index = bisect_right(moments, at)
    return moments[index] if index < len(moments) else end


def _repeated(
    scales: Sequence[ScaleWritten], reads: dict[str, list[tuple[float, str]]]
) -> Iterator[ScaleWritten]:
    last: dict[str, ScaleWritten] = {}
    for written in scales:
        before = last.get(written.target)
        last[written.target] = written
        if written.before == written.after:
            yield written
        elif before is not None and before.process != written.process:
            since = bisect_left(reads[written.target], before.at, key=lambda each: each[0])
            until = bisect_right(reads[written.target], written.sent_at, key=lambda each: each[0])
            if written.process not in {
                process for _, process in reads[written.target][since:until]
            }:
                yield written
