"""One scenario on one side, look by look: what each look is to find, and what it left behind."""

import asyncio
from collections.abc import Mapping
from typing import Any

from testbed.differential.scaler.contest import SYNC_PERIOD_SECONDS
from testbed.differential.scaler.seen import flattened
from testbed.differential.scaler.side import Place
from testbed.differential.scaler.situation import Scenario, Situation, Step
from testbed.differential.scaler.worlds import Arrival, Gate

# What is written reaches the watch caches of both programs within milliseconds; nothing tells us when.
CACHE_SECONDS = 0.25
# After a look that waited for longer, the next may be begun with an old autoscaler.
HELD_MAX_SECONDS = SYNC_PERIOD_SECONDS * 0.8

Views = dict[str, Mapping[str, Any]]
"""What a side shows, by `step.look`, from 1."""


class Disturbed(Exception):
    """This machine was too slow for the looks to be what the scenario says: it has to be run again."""


class Drive:
    """Leads one side through a gated scenario."""

    def __init__(self, scenario: Scenario, place: Place) -> None:
        self._scenario = scenario
        self._place = place
        subject = scenario.steps[0].situation.subjects[0]
        self._gate: Gate = place.world.targets[subject.name].gate

    async def views(self) -> Views:
        """From the first look to the last. Raises Disturbed and NoLook."""
        found: Views = {}
        before = self._scenario.steps[0].situation
        await self._place.prepare(before)
        arrival = await self._gate.arrived()
        for number, step in enumerate(self._scenario.steps, start=1):
            arrival = await self._become(before, step, arrival)
            for look in range(1, step.looks + 1):
                arrival = await self._look(arrival)
                found[f"{number}.{look}"] = await self._view()
            before = step.situation
        return found

    async def _become(self, before: Situation, step: Step, arrival: Arrival) -> Arrival:
        if await self._place.change_specs(before, step.situation):
            # The look that waits has read its autoscaler already: it is let through on what was.
            arrival = await self._look(arrival)
        if await self._place.change_pods(before, step.situation):
            await asyncio.sleep(CACHE_SECONDS)
        self._place.world.become(step.situation)
        return arrival

    async def _look(self, arrival: Arrival) -> Arrival:
        """Let one look through; the next one's arrival."""
        if arrival.held_for_seconds() > HELD_MAX_SECONDS:
            raise Disturbed(
                f"{self._place.namespace}: a look waited {arrival.held_for_seconds():.1f} s"
            )
        self._place.world.questions.clear()
        arrival.released.set()
        held_for_seconds = arrival.held_for_seconds()
        following = await self._gate.arrived()
        apart_seconds = following.arrived_at - arrival.arrived_at - held_for_seconds
        if apart_seconds < self._place.side.apart_min_seconds:
            raise Disturbed(
                f"{self._place.namespace}: a look came {apart_seconds:.1f} s after the one before"
            )
        return following

    async def _view(self) -> Mapping[str, Any]:
        seen = await self._place.seen(with_events=False)
        return flattened(seen, self._place.neutral_questions())
