"""One simulation: the cluster, the replicas of the scaler, and the faults of a seed, from beginning to end."""

import contextlib
import logging
import random
from asyncio import events
from collections.abc import Iterable
from pathlib import Path

from scaler.api.kinds import WatchedKind
from tests.simulation import adapter_faults, added_faults, objects
from tests.simulation.api_server import ApiServer, Disturbance
from tests.simulation.cluster import ApiError, Backup, Cluster, Collection, Document, setting
from tests.simulation.faults import Fault, matcher
from tests.simulation.history import keep_history
from tests.simulation.journal import Bounds, ClockStepped, Disturbed, Journal
from tests.simulation.log_handlers import LogCounter
from tests.simulation.metrics_pipeline import pipeline_of
from tests.simulation.network import requests_of
from tests.simulation.process import RESTART_SECONDS, Process
from tests.simulation.replica import Replica, options_for
from tests.simulation.scenario import CLOCK_ERROR_SECONDS, AutoscalerPlan, Scenario
from tests.simulation.schema_faults import DELETED, delete_objects
from tests.simulation.tampering import Tamper
from tests.simulation.timeline import Timeline
from tests.simulation.virtual_clocks import virtual_clocks
from tests.simulation.workloads import Workload
from wire.api.loadline import API_VERSION

SAMPLE_SECONDS = 10.0
CREATED_WITHIN_SECONDS = 20.0
# By how a fault answers. A quota, a webhook or a policy refuses; a schema makes an object invalid.
ERRORS = {"throttled": 429, "not found": 404, "refused": 403, "invalid": 422}


class World:
    """Everything of one run."""

    def __init__(
        self, scenario: Scenario, faults: Iterable[Fault], kubeconfig: Path, tamper: Tamper
    ) -> None:
        self.scenario = scenario
        self.faults = tuple(faults)
        self.timeline = Timeline(scenario.epoch_unix_seconds)
        self.journal = Journal(
            (each.namespace for each in scenario.autoscalers), is_sharded=scenario.is_sharded
        )
        self.cluster = Cluster(self.timeline)
        self.backups: dict[Fault, Backup] = {}
        self._tamper = tamper
        tamper.begin(scenario)
        self.random = random.Random(f"world {scenario.seed}")
        objects.add_collections(self.cluster)
        keep_history(self.cluster, self.journal)
        self.server = ApiServer(
            self.timeline, self.cluster, self.journal, self.random, tamper, scenario.page_max
        )
        self.pipeline = self.server.pipeline = pipeline_of(
            scenario, self.timeline, self.cluster, self.journal, self.server.workloads,
            self.server.receive, kubeconfig, tamper,
        )  # fmt: skip
        flags = self.pipeline.scaler_flags if self.pipeline else ()
        options = options_for(scenario, kubeconfig, flags)
        self.replicas = {
            name: Replica(
                name,
                self.timeline,
                self.journal,
                self.server.receive,
                options,
                self.random,
                tamper,
                scenario.clock_drift,
            )
            for name in scenario.replicas
        }

    def run(self) -> Journal:
        """From the first moment to the last."""
        with virtual_clocks() if self.pipeline else contextlib.nullcontext():
            return self._run()

    def _run(self) -> Journal:
        random.seed(self.scenario.seed)
        log_counter = LogCounter(self.timeline, self.journal, self.running_process)
        root = logging.getLogger()
        root.addHandler(log_counter)
        level = root.level
        root.setLevel(logging.INFO)
        try:
            self._populate()
            if self.pipeline is not None:
                self.pipeline.start(self.replicas.values())
            for delay, replica in enumerate(self.replicas.values()):
                self.timeline.after(0.3 * delay, replica.start)
            for fault in self.faults:
                self.timeline.at(fault.at, self._begin, fault)
                added_faults.prepare(fault, self)
            self.timeline.after(SAMPLE_SECONDS, self._sample)
            self.timeline.run_until(self.scenario.end)
        finally:
            for replica in self.replicas.values():
                replica.stop_for_good()
            if self.pipeline is not None:
                self.pipeline.stop()
            root.removeHandler(log_counter)
            root.setLevel(level)
        return self.journal

    def running_process(self) -> Process | None:
        """The one whose code runs now; None outside of all."""
        loop = events._get_running_loop()
        adapters = [self.pipeline.adapter] if self.pipeline else []
        processes = (*self.replicas.values(), *adapters)
        return next((each for each in processes if each.loop is loop), None)

    @property
    def leader(self) -> str:
        """The replica that the Lease names now; with shards that of the first namespace."""
        owner = self.journal.owner_of(self.journal.namespaces[0], self.timeline.now)
        return owner.partition(".")[0]

    @property
    def _kind(self) -> WatchedKind:
        return self.scenario.kind

    @property
    def autoscalers(self) -> Collection:
        """Those that the scalers reconcile."""
        return self.cluster[self._kind.plural]

    def _document(self, plan: AutoscalerPlan, api_version: str, kind: str) -> Document:
        return objects.document(plan, api_version, kind, self.scenario.epoch_unix_seconds)

    def _populate(self) -> None:
        for plan in self.scenario.autoscalers:
            self.server.workloads[plan.key] = Workload(
                self.timeline, self.cluster, namespace=plan.namespace, name=plan.name,
                replicas=plan.replicas, load=plan.load, pace=plan.pace, rng=self.random,
                journal=self.journal,
            )  # fmt: skip
            created = self.random.choice((0.0, self.random.uniform(0, CREATED_WITHIN_SECONDS)))
            wanted = self._document(plan, self._kind.api_version, self._kind.kind)
            self.timeline.after(created, self.create, wanted)
            window = plan.fields.window
            calendar = objects.calendar(plan, self.scenario.epoch_unix_seconds)
            if calendar is not None:
                self.cluster["scalingcalendars"].create(calendar)
            for change in window.changes if window else ():
                at = change - CLOCK_ERROR_SECONDS
                if at > 0:
                    self.timeline.at(at, self._note_scheduled_bounds, plan)

    def _sample(self) -> None:
        journal = self.journal
        for replica in self.replicas.values():
            journal.tasks_max = max(journal.tasks_max, replica.tasks)
            if replica.wire is not None:
                alive = sum(each.is_open for each in replica.wire.connections)
                journal.connections_max = max(journal.connections_max, alive)
        self.timeline.after(SAMPLE_SECONDS, self._sample)

    # Faults.

    def _begin(self, fault: Fault) -> None:
        self.journal.say(self.timeline.now, f"FAULT {fault}")
        if fault.kind in ("api", "reads", "writes", "metrics"):
            self.disturb(fault, fault.how)
        elif self.pipeline is not None and fault.kind in adapter_faults.KINDS:
            adapter_faults.begin(fault, self.pipeline, self.timeline)
        elif fault.kind in added_faults.BEGIN:
            added_faults.BEGIN[fault.kind](fault, self)
        else:
            getattr(self, f"_begin_{fault.kind.replace('-', '_')}")(fault)

    def _named(self, who: str) -> list[Replica]:
        if who == "both":
            return list(self.replicas.values())
        first = self.scenario.replicas[0]
        return [self.replicas[self.leader or first if who == "leader" else who]]

    def _disturbed(self, fault: Fault) -> list[Replica]:
        named = self._named(fault.who)
        until = fault.at + fault.seconds + RESTART_SECONDS
        self.journal.disturbed.extend(
            Disturbed(at=fault.at, until=until, replica=each.name) for each in named
        )
        return named

    def _begin_kill(self, fault: Fault) -> None:
        for replica in self._disturbed(fault):
            replica.kill(fault.seconds)

    def _begin_terminate(self, fault: Fault) -> None:
        for replica in self._disturbed(fault):
            replica.terminate()

    def _begin_pause(self, fault: Fault) -> None:
        for replica in self._disturbed(fault):
            replica.pause(fault.seconds)

    def _begin_clock_step(self, fault: Fault) -> None:
        for replica in self._named(fault.who):
            replica.wall_offset += fault.amount
            self.journal.clocks_stepped.append(
                ClockStepped(at=fault.at, replica=replica.name, offset_seconds=replica.wall_offset)
            )

    def _begin_partition(self, fault: Fault) -> None:
        for replica in self._disturbed(fault):
            replica.unreachable = fault.how
            cut = Disturbance(how="hang", matches=requests_of(replica.name))
            self.server.disturbances.insert(0, cut)
            if replica.wire is not None and fault.how == "refused":
                replica.wire.cut_all()
            self.timeline.after(fault.seconds, self._reconnect, replica, cut)

    def _reconnect(self, replica: Replica, cut: Disturbance) -> None:
        replica.unreachable = ""
        self.server.disturbances.remove(cut)
        if replica.wire is not None:
            replica.wire.cut_all()

    def disturb(self, fault: Fault, how: str) -> None:
        """Some requests fail, until the fault is over."""
        how, status = ("error", ERRORS[how]) if how in ERRORS else (how, 503)
        seconds = fault.amount if status == 429 or how == "slow" else 0.0
        disturbance = Disturbance(
            how=how, matches=matcher(fault), share=fault.share, seconds=seconds, status=status
        )
        self.server.disturbances.append(disturbance)
        self.timeline.after(fault.seconds, self.server.disturbances.remove, disturbance)

    def cut_all(self) -> None:
        """Break all connections of the scalers."""
        for replica in self.replicas.values():
            if replica.wire is not None:
                replica.wire.cut_all()

    def _begin_discovery(self, fault: Fault) -> None:
        if fault.how == "nulls":
            self.server.discovery_with_nulls = True
            self.timeline.after(fault.seconds, setattr, self.server, "discovery_with_nulls", False)
        else:
            self.disturb(fault, fault.how)

    def _begin_watches(self, fault: Fault) -> None:
        collection = self.cluster[fault.where]
        watchers = [
            each
            for each in collection.watchers
            if fault.who in ("", each.process.partition(".")[0])
        ]
        if fault.how == "stale":
            for process in (fault.who,) if fault.who else self.scenario.replicas:
                self.cluster.holds[process, fault.where] = self.timeline.now + fault.seconds
            return
        if fault.how in ("gone", "expired"):
            collection.compact()
        if fault.how in ("expired", "repeated"):
            for watcher in watchers:
                watcher.expire() if fault.how == "expired" else watcher.repeat()
            return
        if fault.how in ("hang", "error"):
            self.disturb(fault, fault.how)
        for watcher in watchers:
            watcher.connection.cut()

    def _begin_crd(self, fault: Fault) -> None:
        """The CRD is replaced: for a while the API server does not know the resource."""
        if fault.how == DELETED:
            delete_objects(fault, self)
        self.disturb(fault, "not found")
        for watcher in tuple(self.cluster["loadautoscalers"].watchers):
            watcher.connection.cut()

    def _begin_memories(self, fault: Fault) -> None:
        """A user deletes or damages the stored memories of a namespace."""
        self.server.memories.spoil(fault.where.partition("/")[0], how=fault.how)

    def _begin_pods(self, fault: Fault) -> None:
        self.server.workloads[fault.where].crash(fault.amount)

    def _begin_rollout(self, fault: Fault) -> None:
        self.server.workloads[fault.where].roll_out()

    def _begin_rival(self, fault: Fault) -> None:
        plan = next(each for each in self.scenario.autoscalers if each.key == fault.where)
        # A scaler of HPAs does not reconcile LoadAutoscalers, and HPAs share targets with them.
        how = fault.how if self._kind.shares_no_target else self._kind.kind
        version = API_VERSION if how == "LoadAutoscaler" else "autoscaling/v2"
        rival = self._document(plan, version, how)
        rival["metadata"]["name"] += "-rival"
        rival["spec"]["minReplicas"], rival["spec"]["maxReplicas"] = (
            plan.max_replicas + 1,
            plan.max_replicas + 3,
        )
        self.create(rival)
        self.timeline.after(fault.seconds, self.delete, rival)

    def _begin_user(self, fault: Fault) -> None:
        plan = next(each for each in self.scenario.autoscalers if each.key == fault.where)
        if fault.how.startswith("lease-"):
            self._touch_leases(fault)
            return
        if fault.how == "scale":
            self.server.workloads[plan.key].scale(max(1, int(fault.amount)))
            return
        current = self.autoscalers.objects.get((plan.namespace, plan.name))
        if current is None:
            return
        if fault.how == "recreate":
            self.delete(current)
            self.switch_on(plan.key)
            again = {
                "kind": self._kind.kind,
                "metadata": {"namespace": plan.namespace, "name": plan.name},
                "spec": current["spec"],
            }
            self.timeline.after(self.random.choice((0.0, 1.0, 30.0)), self.create, again)
            return
        spec, metadata = {**current["spec"]}, {**current["metadata"]}
        if fault.how == "bounds":
            spec["minReplicas"] = max(
                plan.min_replicas, int(fault.amount) % max(1, plan.max_replicas)
            )
            spec["maxReplicas"] = max(spec["minReplicas"], int(fault.amount), 1)
        elif fault.how == "behavior-removed":
            spec.pop("behavior", None)
        else:
            metadata["labels"] = {"touched": str(self.cluster.version)}
        self.autoscalers.update(
            plan.namespace, plan.name, lambda found: found.update(spec=spec, metadata=metadata)
        )
        self.note_bounds(self._kind.plural, self.autoscalers.find(plan.namespace, plan.name))

    def _touch_leases(self, fault: Fault) -> None:
        """Someone deletes all Leases, or makes themselves their holder."""
        leases = self.cluster["leases"]
        for namespace, name in tuple(leases.objects):
            if fault.how == "lease-deleted":
                leases.delete(namespace, name)
            else:
                stolen = {
                    **leases.objects[namespace, name]["spec"], "holderIdentity": "someone-else",
                    "renewTime": f"{self.cluster.timestamp()[:-1]}.000000Z",
                }  # fmt: skip
                lease = leases.update(namespace, name, setting(spec=stolen))
                self.server.ownership.written(self.timeline.now, "", lease)

    def create(self, wanted: Document) -> None:
        """A user creates an autoscaler, if there is none of that name."""
        plural = objects.plural_of(wanted)
        try:
            spec = self._tamper.spec(wanted["spec"])
            self.note_bounds(plural, self.cluster[plural].create({**wanted, "spec": spec}))
        except ApiError:
            return  # an earlier fault has made one of that name

    def delete(self, gone: Document) -> None:
        """A user deletes an autoscaler, if it exists."""
        metadata, plural = gone["metadata"], objects.plural_of(gone)
        key = (metadata["namespace"], metadata["name"])
        if found := self.cluster[plural].objects.get(key):
            self.cluster[plural].delete(*key)
            self.note_bounds(plural, found, exists=False)

    def _note_scheduled_bounds(self, plan: AutoscalerPlan) -> None:
        found = self.autoscalers.objects.get((plan.namespace, plan.name))
        if found is not None:
            self.note_bounds(self._kind.plural, found)

    def switch_on(self, key: str) -> None:
        """A new autoscaler takes a target without replicas for one that was switched off."""
        if key in self.server.workloads and self.server.workloads[key].replicas == 0:
            self.server.workloads[key].scale(1)

    def note_bounds(self, plural: str, found: Document, *, exists: bool = True) -> None:
        """Record the bounds of an autoscaler that has changed."""
        metadata, spec = found["metadata"], found["spec"]
        target = f"{metadata['namespace']}/{spec['scaleTargetRef']['name']}"
        offsets = [each.wall_offset for each in self.replicas.values()]
        for low, high in objects.bounds(self.scenario, plural, found, self.timeline.now, offsets):
            self.journal.bounds.append(
                Bounds(
                    at=self.timeline.now,
                    key=f"{plural}/{metadata['namespace']}/{metadata['name']}",
                    uid=metadata["uid"],
                    target=target,
                    min_replicas=low,
                    max_replicas=high,
                    spec=spec,
                    exists=exists,
                )
            )
            what = f"{metadata['name']}: {low}..{high}, exists: {exists}"
            self.journal.say(self.timeline.now, what)
