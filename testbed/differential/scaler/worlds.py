"""What one namespace looks like to whoever autoscales in it, and the gate that each of its looks passes.

Both programs begin a look by reading the target's Scale. The scripted target makes that request wait for a
moment, in which the harness reads what the look before has done and changes what the next one shall find.

Only for a moment: of a look that takes longer than the sync period the HPA controller begins the next right
after it, with an autoscaler from before its own write of the status, and fails to write another.
"""

import asyncio
import time
from collections.abc import Iterable

from testbed.differential.scaler.situation import Refusal, Scale, Situation

LOOK_DEADLINE_SECONDS = 30.0
REREAD_SECONDS = 0.5


class NoLook(Exception):
    """A program has not come back for its next look."""


class Arrival:
    """A look that waits at the gate."""

    def __init__(self) -> None:
        self.arrived_at = time.monotonic()
        self.released = asyncio.Event()

    def held_for_seconds(self) -> float:
        """How long it has been waiting."""
        return time.monotonic() - self.arrived_at


class Gate:
    """Looks wait here until they are let through, one by one; or pass, when it is open."""

    def __init__(self) -> None:
        self._arrivals: asyncio.Queue[Arrival] = asyncio.Queue()
        self._waiting: set[Arrival] = set()
        self._reread_until = 0.0
        self._is_open = False

    async def passed(self) -> None:
        """Wait to be let through; the reads within a look that has already begun need not."""
        is_reread, self._reread_until = time.monotonic() < self._reread_until, 0.0
        if self._is_open or is_reread:
            return
        arrival = Arrival()
        self._waiting.add(arrival)
        self._arrivals.put_nowait(arrival)
        try:
            await arrival.released.wait()
        finally:
            self._waiting.discard(arrival)

    def expect_reread(self) -> None:
        """A refused write may be followed, at once, by a read that belongs to the same look."""
        self._reread_until = time.monotonic() + REREAD_SECONDS

    async def arrived(self) -> Arrival:
        """The next look, which also says that the one before is over. Raises NoLook."""
        try:
            return await asyncio.wait_for(self._arrivals.get(), LOOK_DEADLINE_SECONDS)
        except TimeoutError:
            raise NoLook(f"no look within {LOOK_DEADLINE_SECONDS:g} s") from None

    def open(self) -> None:
        """Let everything through from now on."""
        self._is_open = True
        for arrival in self._waiting:
            arrival.released.set()


class Target:
    """A scripted scale target: what was asked for, what is there, and every write."""

    def __init__(self, scale: Scale) -> None:
        self.gate = Gate()
        self.scripted = scale
        self.replicas = scale.replicas or 0
        self.version = 1
        self.writes: list[int] = []
        self._refusals = list(scale.put)

    def change(self, scale: Scale) -> None:
        """Make it what the next step says; what the step leaves open stays."""
        if scale == self.scripted:
            return
        self.scripted = scale
        self._refusals = list(scale.put)
        if scale.replicas is not None and scale.replicas != self.replicas:
            self.replicas = scale.replicas
            self.version += 1

    @property
    def status_replicas(self) -> int:
        """The scripted count, or as many as wanted."""
        return self.replicas if self.scripted.status is None else self.scripted.status

    def write(self, replicas: int, version: str) -> Refusal | None:
        """A PUT; a refusal when the script has one, or when the version is not the newest."""
        self.writes.append(replicas)
        refusal = self._refusals.pop(0) if self._refusals else None
        if refusal is None and version not in ("", str(self.version)):
            refusal = Refusal(code=409, reason="Conflict", message="the target has been modified")
        if refusal is None:
            self.replicas = replicas
            self.version += 1
        else:
            self.gate.expect_reread()
        return refusal


class World:
    """One namespace: its scripted targets, its metrics, and which metrics were asked for."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.targets = {
            each.name: Target(each.scale) for each in situation.subjects if each.is_scripted
        }
        self.questions: set[str] = set()
        self.questions_count = 0

    def become(self, situation: Situation) -> None:
        """The next step."""
        self.situation = situation
        self.questions = set()
        for subject in situation.subjects:
            if subject.is_scripted:
                self.targets[subject.name].change(subject.scale)

    def note_question(self, question: str) -> None:
        """Remember that it was asked in this step."""
        self.questions.add(question)
        self.questions_count += 1

    def gates(self) -> Iterable[Gate]:
        """Of every scripted target."""
        return (target.gate for target in self.targets.values())
