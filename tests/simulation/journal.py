"""What happened in a simulation, as the model servers saw it: what the invariants judge.

But for warnings and tracebacks, which users read, nothing here is what a process says of itself.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec

from tests.simulation.cluster import Document


class TargetRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A process sent a request for the scale or a metric of a target, or wrote its scale."""

    at: float
    process: str
    target: str
    group: str = ""
    """Of the metrics API; empty for the scale."""
    is_write: bool = False
    is_direct: bool = False
    """Whether it was sent to the adapter, and not to kube-apiserver."""


class TargetVersion(msgspec.Struct, frozen=True, kw_only=True):
    """From now on a target has this resourceVersion, `replicas` are wanted, and it has so many `pods` by its status."""

    at: float
    version: str
    replicas: int
    pods: int


class PodList(msgspec.Struct, frozen=True, kw_only=True):
    """From now on a target has these pods."""

    at: float
    pods: tuple[Document, ...]


class ScaleRequested(msgspec.Struct, kw_only=True):
    """A PUT of the scale of a target reached the server, on the basis of the resourceVersion in it."""

    sent_at: float
    process: str
    target: str
    replicas: int
    version: str
    is_repeated: bool = False
    """Whether its process will send it again, because of a conflict or because it got no answer."""


class ScaleWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A process wrote the scale of a target, and the server took it; `sent_at` is when it left the process."""

    at: float
    sent_at: float
    process: str
    target: str
    before: int
    after: int
    read: TargetVersion
    """What the process had read of the target when it decided: what the first one of several attempts is based on."""
    answered: bool = True
    """Whether the process got the answer."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """A metrics API answered."""

    at: float
    process: str
    target: str
    group: str
    document: Document | None
    """The list that it returned; None: an error, a malformed answer, or none at all."""
    value: float | None
    """The sum of what it returned. None: nothing, or no usable answer."""
    sent_at: float
    """When the request left the process."""
    is_streamed: bool = False
    """Whether it was sent without a request: it is not known which reconcile has used it."""
    was_cut: bool = False
    """Whether the connection ended without a response."""


class StatusWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A process wrote an autoscaler's status."""

    at: float
    process: str
    key: str
    bytes: int
    path: str = ""
    fields: tuple[str, ...] = ()
    has_metrics: bool = False
    """Whether it shows current metrics."""
    loses_history: bool = False
    """Whether the server has stored it without the history."""


class MemoryStored(msgspec.Struct, frozen=True, kw_only=True):
    """A process stored another memory of an HPA in a ScalingMemory; `key` is that of the HPA.

    `replicas` is the count that it stored with it. None: the memory was damaged or deleted by someone else, or the HPA
    has none any more.
    """

    at: float
    process: str
    key: str
    replicas: int | None
    is_damage: bool = False


class MemoryRead(msgspec.Struct, frozen=True, kw_only=True):
    """A LIST of ScalingMemories had the memory of an HPA; `is_damaged`: in an object that cannot be decoded."""

    at: float
    process: str
    key: str
    is_damaged: bool


class MemoryObjectWritten(msgspec.Struct, frozen=True, kw_only=True):
    """A process wrote a whole ScalingMemory."""

    at: float
    process: str
    name: str
    bytes: int


class Warned(msgspec.Struct, frozen=True, kw_only=True):
    """A process logged a warning."""

    at: float
    process: str
    text: str


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """The Leases name this process for a namespace from now on; empty: no holder."""

    at: float
    process: str
    namespace: str


class Disturbed(msgspec.Struct, frozen=True, kw_only=True):
    """A replica was killed, stopped, paused or cut off for a while."""

    at: float
    until: float
    replica: str


class ClockStepped(msgspec.Struct, frozen=True, kw_only=True):
    """The wall clock of a machine differs by so much from the right time from now on."""

    at: float
    replica: str
    offset_seconds: float


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """From now on all objects are those of a moment in the past: what was stored since then is lost."""

    at: float
    backup_at: float


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """From now on an autoscaler has these bounds and this target; `exists` is False when it was deleted."""

    at: float
    key: str
    uid: str
    target: str
    min_replicas: int
    max_replicas: int
    spec: Document
    exists: bool = True

    @property
    def has_behavior(self) -> bool:
        """Whether `spec.behavior` is set."""
        return "behavior" in self.spec


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """From now on the running pods of a target have several revisions, or one."""

    at: float
    target: str
    is_in_progress: bool


class Scraped(msgspec.Struct, frozen=True, kw_only=True):
    """The model of Prometheus scraped a target: its load, which its ready pods share."""

    at: float
    target: str
    load: float
    pods: tuple[str, ...]


class Queried(msgspec.Struct, kw_only=True):
    """A process of the adapter sent a query to Prometheus, which took so many `seconds` if it is answered."""

    at: float
    process: str
    text: str
    is_answered: bool
    """Whether it had, or will have, a result."""
    seconds: float
    is_cut: bool = False
    """Whether its connection ended without a response."""


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """The adapter answered a request for a metric; `sent_at` is when the client sent it."""

    at: float
    sent_at: float
    user: str
    namespace: str
    group: str
    target: str
    status: int
    document: Document | None
    is_streamed: bool = False
    """Whether it was sent without a request."""


class RightsChanged(msgspec.Struct, frozen=True, kw_only=True):
    """From now on a user may read the metrics of these namespaces; `*`: of all."""

    at: float
    user: str
    namespaces: frozenset[str]


class Journal:
    """All of it, in the order of its happening."""

    def __init__(self, namespaces: Iterable[str] = (), *, is_sharded: bool = False) -> None:
        self.namespaces = tuple(dict.fromkeys(namespaces))
        self.is_sharded = is_sharded
        self.disturbed: list[Disturbed] = []
        self.restores: list[Restored] = []
        self.clocks_stepped: list[ClockStepped] = []
        self.target_requests: list[TargetRequest] = []
        self.listed_targets: list[TargetRequest] = []
        """Reads of scales by a LIST, which are not part of a reconcile."""
        self.targets: dict[str, list[TargetVersion]] = defaultdict(list)
        self.pods: dict[str, list[PodList]] = defaultdict(list)
        self.scale_requests: list[ScaleRequested] = []
        self.scales: list[ScaleWritten] = []
        self.measurements: list[Measurement] = []
        self.direct_requests: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        """When a process requested a metric from the adapter, by process, target and group."""
        self.statuses: list[StatusWritten] = []
        self.memories_stored: list[MemoryStored] = []
        self.memories_read: list[MemoryRead] = []
        self.memory_objects: list[MemoryObjectWritten] = []
        self.warnings: list[Warned] = []
        self.holders: list[Held] = []
        self.bounds: list[Bounds] = []
        self.rollouts: list[Rollout] = []
        self.scraped: list[Scraped] = []
        self.queries: list[Queried] = []
        self.served: list[Served] = []
        self.rights: list[RightsChanged] = []
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

    def held(self, namespace: str) -> list[Held]:
        """All holders of a namespace."""
        return [each for each in self.holders if each.namespace == namespace]

    def owner_of(self, namespace: str, at: float) -> str:
        """The process that may write to it at this moment; empty: none."""
        held = (each for each in reversed(self.holders) if each.namespace == namespace)
        return next((each.process for each in held if each.at <= at), "")

    def owned_since(self, process: str, target: str, at: float) -> float | None:
        """Since when the process has owned the namespace of a target, as far as it knows at this moment; None if it never did.

        If it lost it, and claimed it again before any other process, it has owned it all the time. One that is suspended does
        not notice that another one owns it.
        """
        since, is_lost = None, True
        for each in self.held(target.partition("/")[0]):
            if each.at > at:
                break
            if each.process == process and is_lost:
                since, is_lost = each.at, False
            elif each.process not in (process, ""):
                is_lost = True
        return since

    def was_lost_by(self, process: str, target: str, since: float, until: float) -> bool:
        """Whether another one, or a user, has had its namespace in this time, and may have scaled the target."""
        return any(
            since <= each.at <= until and each.process != process
            for each in self.held(target.partition("/")[0])
        )

    def version(self, target: str, version: str) -> TargetVersion:
        """What a target was with this resourceVersion, or is now if it never had it."""
        versions = self.targets[target]
        return next((each for each in reversed(versions) if each.version == version), versions[-1])

    def note_listed_targets(self, at: float, process: str, listed: bytes) -> None:
        """A LIST of whole objects shows the scale of each of them."""
        for each in msgspec.json.decode(listed)["items"]:
            target = f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            self.listed_targets.append(TargetRequest(at=at, process=process, target=target))

    def scale_writes(self, process: str, target: str) -> list[float]:
        """When this process has sent requests to write the scale of the target."""
        return [
            each.at
            for each in self.target_requests
            if each.is_write and (each.process, each.target) == (process, target)
        ]

    def decided_on(self, request: ScaleRequested) -> TargetVersion:
        """What its process had read of the target: with a repeated request, before the first one."""
        first = request
        for each in reversed(self.scale_requests):
            if each is request or each.target != request.target:
                continue
            same = (each.process, each.replicas) == (request.process, request.replicas)
            if not (same and each.is_repeated):
                break
            first = each
        return self.version(request.target, first.version)

    def lose_answer(self, at: float) -> None:
        """The scale written at this moment was not answered."""
        if self.scales and self.scales[-1].at == at:
            self.scales[-1] = msgspec.structs.replace(self.scales[-1], answered=False)
            self.scale_requests[-1].is_repeated = True

    def say(self, at: float, text: str) -> None:
        """One line of the trace of a replayed seed."""
        if self.trace is not None:
            self.trace.append(f"{at:10.3f}  {text}")
