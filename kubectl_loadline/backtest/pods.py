"""The pods of a target in a replay: a pod is ready some time after it was requested."""

from collections import deque

from scaler.algorithm.observed import Pod, PodCondition, PodMetadata, PodSpec, PodStatus
from wire.api.meta import time_from_unix

# The pods at the start have been running for longer than any period of the algorithm.
_SETTLED_SECONDS = 86400
# No metric of a replay is later than that.
_REMEMBERED_SECONDS = 3600


class SimulatedPods:
    """Every pod has the same spec and start-up time. A scale-in removes the newest, so those that are not ready first."""

    def __init__(
        self, replicas: int, *, start_up_seconds: float, at_unix_seconds: float, spec: PodSpec
    ) -> None:
        self._start_up_seconds = start_up_seconds
        self._spec = spec
        self._created = 0
        self._ready_at: list[float] = []
        self._names: list[str] = []
        self._ready = 0
        self._pods: list[Pod] = []
        self._all: tuple[Pod, ...] | None = None
        for _ in range(replicas):
            self._add(at_unix_seconds - _SETTLED_SECONDS)
        self._history = deque([(at_unix_seconds - _SETTLED_SECONDS, replicas)])
        self.advance(at_unix_seconds)

    @property
    def replicas(self) -> int:
        """How many were requested."""
        return len(self._pods)

    @property
    def ready(self) -> int:
        """How many are ready, as of the last `advance`."""
        return self._ready

    def all(self) -> tuple[Pod, ...]:
        """The pods as the API server has them: those that start are Pending."""
        if self._all is None:
            self._all = tuple(self._pods)
        return self._all

    def advance(self, now_unix_seconds: float) -> None:
        """The start-ups that end until now."""
        while self._ready < len(self._pods) and self._ready_at[self._ready] <= now_unix_seconds:
            self._pods[self._ready] = self._running(self._ready)
            self._ready += 1
            self._all = None
        self._remember(now_unix_seconds)

    def scale_to(self, replicas: int, now_unix_seconds: float) -> None:
        """Request or delete pods."""
        for _ in range(replicas - len(self._pods)):
            self._add(now_unix_seconds)
        if replicas < len(self._pods):
            del self._pods[replicas:], self._ready_at[replicas:], self._names[replicas:]
            self._ready = min(self._ready, replicas)
        self._all = None
        self._remember(now_unix_seconds)

    def ready_at(self, unix_seconds: float) -> int:
        """How many were ready at an earlier time, at most an hour ago."""
        # The history has the times of `advance` only. Between two of them, pods that still exist may have become ready.
        return max(self._known_at(unix_seconds), self._existing_at(unix_seconds))

    def names_ready_since(self, unix_seconds: float) -> list[str]:
        """Of the pods that still exist, those that were ready at that time."""
        return self._names[: self._existing_at(unix_seconds)]

    def _known_at(self, unix_seconds: float) -> int:
        for since, ready in reversed(self._history):
            if since <= unix_seconds:
                return ready
        return self._history[0][1]

    def _existing_at(self, unix_seconds: float) -> int:
        count = self._ready
        while count and self._ready_at[count - 1] > unix_seconds:
            count -= 1
        return count

    def _remember(self, now: float) -> None:
        if self._history[-1][1] != self._ready:
            self._history.append((now, self._ready))
            while len(self._history) > 1 and self._history[1][0] < now - _REMEMBERED_SECONDS:
                self._history.popleft()

    def _add(self, created_at: float) -> None:
        self._created += 1
        name = f"pod-{self._created}"
        self._names.append(name)
        self._ready_at.append(created_at + self._start_up_seconds)
        self._pods.append(
            Pod(
                metadata=PodMetadata(name=name),
                spec=self._spec,
                status=PodStatus(phase="Pending", start_time=time_from_unix(created_at)),
            )
        )

    def _running(self, index: int) -> Pod:
        pod, turned = self._pods[index], time_from_unix(self._ready_at[index])
        condition = PodCondition(type="Ready", status="True", last_transition_time=turned)
        status = PodStatus(
            phase="Running", start_time=pod.status.start_time, conditions=(condition,)
        )
        return Pod(metadata=pod.metadata, spec=self._spec, status=status)
