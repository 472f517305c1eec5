"""Restores of etcd from a backup: all objects are those of a moment in the past."""

import random
from typing import TYPE_CHECKING

import msgspec

from tests.simulation.api_server import AUTOSCALERS
from tests.simulation.cluster import Document
from tests.simulation.faults import Fault
from tests.simulation.journal import Restored
from tests.simulation.scenario import Scenario

if TYPE_CHECKING:
    from tests.simulation.world import World

# A backup was made when the scalers had already started.
BACKUP_AGES_SECONDS = (5.0, 20.0, 60.0, 150.0)
FIRST_BACKUP_SECONDS = 30.0
# Where a restore is followed by tools that delete and create autoscalers.
NEW_UIDS = "new uids"
# Where the versions go back, too. So many are those of other clients since the backup.
EARLIER_VERSIONS = "earlier versions"
VERSIONS_OF_OTHERS = 10_000
CREATED_AGAIN_SHARE = 0.5


def made_from(rng: random.Random, scenario: Scenario, at: float) -> tuple[Fault, ...]:
    """`how` the API servers answer meanwhile, `amount`: the age of the backup. In some seeds, the restore undoes an edit."""
    age_seconds = min(rng.choice(BACKUP_AGES_SECONDS), at - FIRST_BACKUP_SECONDS)
    restore = Fault(
        kind="restore", at=at, seconds=min(rng.choice((1.0, 5.0, 20.0)), scenario.calm_at - at),
        amount=age_seconds, how=rng.choice(("error", "refused", "refused")), where=rng.choice(("", "", NEW_UIDS)),
    )  # fmt: skip
    edit = Fault(
        kind="user", how="bounds", at=at - rng.uniform(0.0, age_seconds),
        where=rng.choice(scenario.autoscalers).key, amount=rng.randint(1, 15),
    )  # fmt: skip
    is_edited, goes_back = rng.random() < 0.5, rng.random() < 0.5
    if goes_back:
        where = f"{restore.where} {EARLIER_VERSIONS}".strip()
        restore = msgspec.structs.replace(restore, where=where)
    return (edit, restore) if is_edited else (restore,)


def prepare(fault: Fault, world: "World") -> None:
    """A backup is made before the restore."""
    world.timeline.at(fault.at - fault.amount, _back_up, fault, world)


def _back_up(fault: Fault, world: "World") -> None:
    world.backups[fault] = world.cluster.backup()
    if EARLIER_VERSIONS in fault.where:
        world.cluster.version += VERSIONS_OF_OTHERS


def begin(fault: Fault, world: "World") -> None:
    """The API servers are stopped, etcd is restored, and they start again."""
    if fault.how == "error":
        world.disturb(fault, "error")
    else:
        for replica in world.replicas.values():
            replica.unreachable = fault.how
            world.timeline.after(fault.seconds, setattr, replica, "unreachable", "")
    world.cut_all()
    world.timeline.after(fault.seconds, _restore, fault, world)


def _restore(fault: Fault, world: "World") -> None:
    memories, before = world.server.memories.histories(), _existing(world)
    backup = world.backups[fault]
    world.cluster.restore(backup, is_bumped=EARLIER_VERSIONS not in fault.where)
    world.cut_all()
    for workload in world.server.workloads.values():
        workload.restored()
    _delete_again(world)
    if NEW_UIDS in fault.where:
        _create_again(world)
    now = world.timeline.now
    world.server.ownership.restored(now, world.cluster["leases"].objects.values())
    world.server.memories.restored(memories)
    _note_bounds(world, before)
    world.journal.restores.append(Restored(at=now, backup_at=backup.at))


def _existing(world: "World") -> dict[tuple[str, str], Document]:
    """The autoscalers, by their collection and uid."""
    return {
        (plural, found["metadata"]["uid"]): found
        for plural in AUTOSCALERS
        for found in world.cluster[plural].objects.values()
    }


def _delete_again(world: "World") -> None:
    """Users who have deleted the second autoscaler of a target do so again, or the target would never be scaled."""
    for fault in world.faults:
        if fault.kind == "rival" and fault.at + fault.seconds <= world.timeline.now:
            namespace, _, name = f"{fault.where}-rival".partition("/")
            for plural in AUTOSCALERS:
                if (namespace, name) in world.cluster[plural].objects:
                    world.cluster[plural].delete(namespace, name)


def _create_again(world: "World") -> None:
    """Tools that apply manifests delete and create some of the autoscalers: they have other uids."""
    for found in tuple(world.autoscalers.objects.values()):
        if world.random.random() < CREATED_AGAIN_SHARE:
            named = {key: found["metadata"][key] for key in ("namespace", "name")}
            world.switch_on("/".join(named.values()))
            world.autoscalers.delete(named["namespace"], named["name"])
            world.autoscalers.create({"metadata": named, "spec": found["spec"]})


def _note_bounds(world: "World", before: dict[tuple[str, str], Document]) -> None:
    after = _existing(world)
    for (plural, uid), gone in before.items():
        if (plural, uid) not in after:
            world.note_bounds(plural, gone, exists=False)
    for (plural, uid), found in after.items():
        if (plural, uid) not in before or before[plural, uid]["spec"] != found["spec"]:
            world.note_bounds(plural, found)
