"""What happened in a simulation, as the model servers saw it: what the invariants judge."""

from collections import Counter

import msgspec


class Reconciled(msgspec.Struct, frozen=True, kw_only=True):
    """A process read the scale of a target."""

    at: float
    process: str
    target: str
    replicas: int
    pods: int


class ScaleWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A process wrote the scale of a target, and the server took it; `sent_at` is when it left the process."""

    at: float
    sent_at: float
    process: str
    target: str
    before: int
    after: int
    answered: bool = True
    """Whether the process got the answer."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A metrics API answered. `value` is the whole load; None: missing, malformed, or no answer at all."""

    at: float
    process: str
    target: str
    group: str
    value: float | None


class StatusWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A process wrote an autoscaler's status."""

    at: float
    process: str
    key: str
    bytes: int


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The Lease named this process from now on; empty: no holder."""

    at: float
    process: str


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """From now on an autoscaler has these bounds and this target; `exists` is False when it was deleted."""

    at: float
    key: str
    target: str
    min_replicas: int
    max_replicas: int
    has_behavior: bool = False
    exists: bool = True


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """From now on the running pods of a target have several revisions, or one."""

    at: float
    target: str
    is_in_progress: bool


class Journal:
    """All of it, in the order of its happening."""

    def __init__(self) -> None:
        self.reconciled: list[Reconciled] = []
        self.scales: list[ScaleWritten] = []
        self.measurements: list[Measurement] = []
        self.statuses: list[StatusWritten] = []
        self.holders: list[Held] = []
        self.bounds: list[Bounds] = []
        self.rollouts: list[Rollout] = []
        self.lives: list[tuple[str, float, float]] = []
        """Process, birth and end of each life that has ended."""
        self.requests: Counter[str] = Counter()
        """By process and verb with resource."""
        self.log_lines: Counter[str] = Counter()
        self.crashes: list[str] = []
        """Tracebacks that a process logged."""
        self.tasks_max = 0
        self.status_bytes_max = 0
        self.connections_max = 0
        self.trace: list[str] | None = None

    def lose_answer(self, at: float) -> None:
        """The scale written at this moment was not answered."""
        if self.scales and self.scales[-1].at == at:
            self.scales[-1] = msgspec.structs.replace(self.scales[-1], answered=False)

    def say(self, at: float, text: str) -> None:
        """One line of the trace of a replayed seed."""
        if self.trace is not None:
            self.trace.append(f"{at:10.3f}  {text}")
