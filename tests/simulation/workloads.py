"""The workloads that are scaled: deployments, their pods, and the load on them.

A pod starts after a while, gets ready after another, and may crash. The load is a function of the
world's time alone, so that what an autoscaler ought to do can be said without running one.
"""

import random
from bisect import bisect_right

import msgspec

from tests.simulation.cluster import Cluster, Document
from tests.simulation.journal import Journal, Rollout
from tests.simulation.timeline import Timeline

REVISION = "pod-template-hash"
ROLLOUT_STEP_SECONDS = 2.0


class Curve(msgspec.Struct, frozen=True):
    """A load over time: at each of these moments it changes to that value, and it keeps the last."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, seconds: float) -> float:
        """The load at this moment."""
        return self.values[max(0, bisect_right(self.times, seconds) - 1)]


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How long things take in a workload, in seconds."""

    reaction: float = 0.3
    start: float = 2.0
    ready: float = 5.0
    ending: float = 2.0


class Workload:
    """A deployment and its controller."""

    def __init__(
        self,
        timeline: Timeline,
        cluster: Cluster,
        *,
        namespace: str,
        name: str,
        replicas: int,
        load: Curve,
        pace: Pace,
        rng: random.Random,
        journal: Journal,
    ) -> None:
        self.timeline = timeline
        self._cluster = cluster
        self._random = rng
        self._pace = pace
        self._pods = 0
        self._names: dict[str, None] = {}
        self._settling = False
        self._journal = journal
        self._revision = 1
        self._is_rolling = False
        self.namespace = namespace
        self.name = name
        self.load = load
        self.labels = {"app": name}
        cluster["deployments"].create(
            {
                "metadata": {"namespace": namespace, "name": name, "labels": self.labels},
                "spec": self._spec(replicas),
                "status": {"replicas": 0},
            }
        )
        for _ in range(replicas):
            self._create_pod(ready=True)
        self._settle()

    @property
    def document(self) -> Document:
        """The deployment."""
        return self._cluster["deployments"].find(self.namespace, self.name)

    @property
    def replicas(self) -> int:
        """What is wanted."""
        wanted: int = self.document["spec"]["replicas"]
        return wanted

    @property
    def pods(self) -> list[Document]:
        """Its pods, ending ones too."""
        pods = self._cluster["pods"].objects
        return [pods[self.namespace, name] for name in self._names]

    @property
    def ready_pods(self) -> list[Document]:
        """Those that serve."""
        return [pod for pod in self.pods if _is_ready(pod)]

    def scale(self, replicas: int, given: Document | None = None) -> None:
        """A write of the wanted number. Raises `ApiError`."""
        self._cluster["deployments"].update(
            self.namespace,
            self.name,
            lambda document: document.update(spec=self._spec(replicas)),
            given=given,
        )
        self.react()

    def _spec(self, replicas: int) -> Document:
        return {"replicas": replicas, "selector": {"matchLabels": {"app": self.name}}}

    def react(self) -> None:
        """The deployment controller notices, a moment later."""
        if not self._settling:
            self._settling = True
            self.timeline.after(self._pace.reaction * self._random.uniform(0.5, 2), self._settle)

    def restored(self) -> None:
        """The pods are others than a moment ago: what was about to happen to them happens, as kubelets see to it."""
        pods = self._cluster["pods"].objects
        self._names = {
            name: None
            for (namespace, name), pod in pods.items()
            if namespace == self.namespace and pod["metadata"]["labels"]["app"] == self.name
        }
        for pod in self.pods:
            name = pod["metadata"]["name"]
            if not _is_living(pod):
                self.timeline.after(self._pace.ending, self._remove_pod, name)
            elif not _is_ready(pod):
                self._start_pod(name)
        self._note_rollout()
        self.react()

    def crash(self, share: float) -> None:
        """Some pods stop being ready, or fail for good and are replaced."""
        for pod in self.ready_pods:
            if self._random.random() < share:
                name = pod["metadata"]["name"]
                if self._random.random() < 0.3:
                    self._change_pod(name, phase="Failed", ready="False")
                    self.timeline.after(self._pace.ending, self._remove_pod, name)
                else:
                    self._change_pod(name, phase="Running", ready="False")
                    again = self._pace.ready * self._random.uniform(1, 3)
                    self.timeline.after(again, self._change_pod, name, "Running", "True")
        self.react()

    def roll_out(self) -> None:
        """A new revision: one pod more than wanted is created, and once it is ready, an old one is deleted."""
        self._revision += 1
        if not self._is_rolling:
            self._is_rolling = True
            self._roll()

    def _roll(self) -> None:
        living = [pod for pod in self.pods if _is_living(pod)]
        old = [pod for pod in living if not self._is_current(pod)]
        self._is_rolling = bool(old)
        if not old:
            self.react()
            return
        if len(living) <= self.replicas:
            self._create_pod()
        elif all(map(_is_ready, (pod for pod in living if self._is_current(pod)))):
            self._end_pod(old[0])
        self._report()
        self.timeline.after(ROLLOUT_STEP_SECONDS, self._roll)

    def _settle(self) -> None:
        self._settling = False
        living = [pod for pod in self.pods if _is_living(pod)]
        for _ in range(self.replicas - len(living)):
            self._create_pod()
        allowed = self.replicas + int(self._is_rolling)
        for pod in sorted(living, key=self._is_current, reverse=True)[allowed:]:
            self._end_pod(pod)
        self._report()

    def _is_current(self, pod: Document) -> bool:
        return bool(pod["metadata"]["labels"][REVISION] == f"r{self._revision}")

    def _end_pod(self, pod: Document) -> None:
        name = pod["metadata"]["name"]
        self._cluster["pods"].update(self.namespace, name, _mark_deleted)
        self.timeline.after(
            self._pace.ending * self._random.uniform(0.5, 2), self._remove_pod, name
        )
        self._note_rollout()

    def _note_rollout(self) -> None:
        running = [
            pod for pod in self.pods if _is_living(pod) and pod["status"]["phase"] == "Running"
        ]
        several = len({pod["metadata"]["labels"][REVISION] for pod in running}) > 1
        target = f"{self.namespace}/{self.name}"
        before = next(
            (
                each.is_in_progress
                for each in reversed(self._journal.rollouts)
                if each.target == target
            ),
            False,
        )
        if several != before:
            self._journal.say(self.timeline.now, f"rollout of {target} in progress: {several}")
            self._journal.rollouts.append(
                Rollout(at=self.timeline.now, target=target, is_in_progress=several)
            )

    def _report(self) -> None:
        count = sum(map(_is_living, self.pods))
        self._cluster["deployments"].update(
            self.namespace, self.name, lambda document: document.update(status={"replicas": count})
        )

    def _create_pod(self, *, ready: bool = False) -> None:
        self._pods += 1
        name = f"{self.name}-{self._pods:05d}"
        self._names[name] = None
        self._cluster["pods"].create(
            {
                "metadata": {
                    "namespace": self.namespace,
                    "name": name,
                    "labels": {**self.labels, REVISION: f"r{self._revision}"},
                },
                "spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "1"}}}]},
                "status": _status("Running", "True", self.timeline.timestamp(-3600.0))
                if ready
                else {"phase": "Pending"},
            }
        )
        if not ready:
            self._start_pod(name)

    def _start_pod(self, name: str) -> None:
        starts = self._pace.start * self._random.uniform(0.5, 3)
        self.timeline.after(starts, self._change_pod, name, "Running", "False")
        gets_ready = starts + self._pace.ready * self._random.uniform(0.5, 3)
        self.timeline.after(gets_ready, self._change_pod, name, "Running", "True")

    def _change_pod(self, name: str, phase: str, ready: str) -> None:
        pod = self._cluster["pods"].objects.get((self.namespace, name))
        if pod is None or not _is_living(pod):
            return
        status = _status(phase, ready, self.timeline.timestamp(self.timeline.now))
        status["startTime"] = pod["status"].get("startTime", status["startTime"])
        self._cluster["pods"].update(
            self.namespace, name, lambda document: document.update(status=status)
        )
        self._note_rollout()

    def _remove_pod(self, name: str) -> None:
        if (self.namespace, name) in self._cluster["pods"].objects:
            self._cluster["pods"].delete(self.namespace, name)
            del self._names[name]
            self._note_rollout()
            self.react()


def _status(phase: str, ready: str, since: str) -> Document:
    condition = {"type": "Ready", "status": ready, "lastTransitionTime": since}
    return {"phase": phase, "startTime": since, "conditions": [condition]}


def _is_living(pod: Document) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] != "Failed"


def _is_ready(pod: Document) -> bool:
    conditions = pod["status"].get("conditions", ())
    return _is_living(pod) and any(each["status"] == "True" for each in conditions)


def _mark_deleted(pod: Document) -> None:
    pod["metadata"]["deletionTimestamp"] = pod["metadata"]["creationTimestamp"]
