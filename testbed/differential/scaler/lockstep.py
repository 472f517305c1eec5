"""Lead one side through a scenario, reconcile by reconcile: set the state before each and record the result."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from testbed.differential.scaler.environment import SYNC_PERIOD_SECONDS
from testbed.differential.scaler.namespace_script import Arrival, Gate
from testbed.differential.scaler.observed_state import flattened
from testbed.differential.scaler.scenario_model import ClusterState, Scenario, Step
from testbed.differential.scaler.side import ScenarioNamespace

# Writes reach the watch caches of both programs within milliseconds; there is no signal to wait for.
CACHE_SECONDS = 0.25
# Where reconciles may follow each other at once: longer than the short windows and periods of the scenarios, and than
# Loadline uses the response of a metrics API again.
BETWEEN_RECONCILES_SECONDS = 1.5
# After a reconcile that was held longer, the next one may start with a stale autoscaler.
HELD_MAX_SECONDS = SYNC_PERIOD_SECONDS * 0.8

Views = dict[str, Mapping[str, Any]]
"""What a side shows after each reconcile, by `step.reconcile`, both from 1."""


class Disturbed(Exception):
    """The machine was too slow for the timing that the scenario requires; it must be run again."""


class LockstepRun:
    """Leads one side through a gated scenario."""

    def __init__(self, scenario: Scenario, scenario_namespace: ScenarioNamespace) -> None:
        self._scenario = scenario
        self._place = scenario_namespace
        autoscaler = scenario.steps[0].state.autoscalers[0]
        self._gate: Gate = scenario_namespace.script.targets[autoscaler.name].gate

    async def views(self) -> Views:
        """Run all reconciles. Raises Disturbed and NoReconcile."""
        found: Views = {}
        before = self._scenario.steps[0].state
        await self._place.prepare(before)
        arrival = await self._gate.arrived()
        if self._place.side.reconciles_at_once:
            # It may have begun before the pods were in the watch cache; it reads them after its gate.
            await asyncio.sleep(CACHE_SECONDS)
        for number, step in enumerate(self._scenario.steps, start=1):
            arrival = await self._apply(before, step, arrival)
            for reconcile in range(1, step.reconciles + 1):
                arrival = await self._reconcile(arrival)
                found[f"{number}.{reconcile}"] = await self._view()
            before = step.state
        return found

    async def _apply(self, before: ClusterState, step: Step, arrival: Arrival) -> Arrival:
        if await self._place.change_specs(before, step.state):
            # The waiting reconcile has read its autoscaler before the change: let it run with the old state.
            arrival = await self._reconcile(arrival)
        if await self._place.change_pods(before, step.state):
            await asyncio.sleep(CACHE_SECONDS)
        self._place.script.apply(step.state)
        return arrival

    async def _reconcile(self, arrival: Arrival) -> Arrival:
        """Release one reconcile and wait for the arrival of the next."""
        if arrival.held_for_seconds() > HELD_MAX_SECONDS:
            raise Disturbed(
                f"{self._place.name}: a reconcile was held for {arrival.held_for_seconds():.1f} s"
            )
        self._place.script.requests.clear()
        arrival.released.set()
        held_for_seconds = arrival.held_for_seconds()
        released_at = time.monotonic()
        following = await self._gate.arrived()
        if self._place.side.reconciles_at_once:
            pause_seconds = released_at + BETWEEN_RECONCILES_SECONDS - time.monotonic()
            await asyncio.sleep(max(0.0, pause_seconds))
        interval_seconds = following.arrived_at - arrival.arrived_at - held_for_seconds
        if interval_seconds < self._place.side.interval_min_seconds:
            raise Disturbed(
                f"{self._place.name}: a reconcile followed the previous one after {interval_seconds:.1f} s"
            )
        return following

    async def _view(self) -> Mapping[str, Any]:
        observed = await self._place.observed(with_events=False)
        return flattened(observed, self._place.neutral_requests())
