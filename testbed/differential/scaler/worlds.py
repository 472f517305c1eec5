"""What one namespace looks like to whoever autoscales in it, and the gate that each of its looks passes.

Both programs begin a look by reading the target's Scale. The scripted target makes that request wait,
so between two looks everything can be changed as a whole, and both sides get equally many looks.
"""

import asyncio
from collections.abc import Iterable

from testbed.differential.scaler.situation import Refusal, Scale, Situation

HELD_DEADLINE_SECONDS = 60.0


class NoLook(Exception):
    """A program has not come back for its next look."""


class Gate:
    """Looks wait here until they are let through, one by one."""

    def __init__(self) -> None:
        self._waiting = 0
        self._permits = 0
        self._free = 0
        self._is_open = False
        self._changed = asyncio.Condition()

    async def passed(self) -> None:
        """Wait for a permit; the reads within a look that has already begun need none."""
        if self._is_open or self._free > 0:
            self._free = max(0, self._free - 1)
            return
        async with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            try:
                await self._changed.wait_for(lambda: self._is_open or self._permits > 0)
                self._permits = max(0, self._permits - 1)
            finally:
                self._waiting -= 1
                self._changed.notify_all()

    def expect_reread(self) -> None:
        """A refused write is followed by a read that belongs to the same look."""
        self._free += 1

    async def held(self, deadline_seconds: float = HELD_DEADLINE_SECONDS) -> None:
        """Until a look waits here, which also says that the one before is over. Raises NoLook."""

        def is_held() -> bool:
            return self._waiting > 0 and self._permits == 0

        async with self._changed:
            try:
                await asyncio.wait_for(self._changed.wait_for(is_held), deadline_seconds)
            except TimeoutError:
                raise NoLook(f"no look within {deadline_seconds:g} s") from None

    async def release(self) -> None:
        """Let one look through."""
        async with self._changed:
            self._permits += 1
            self._changed.notify_all()

    async def open(self) -> None:
        """Let everything through from now on."""
        async with self._changed:
            self._is_open = True
            self._changed.notify_all()


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
