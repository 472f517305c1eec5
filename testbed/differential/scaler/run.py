"""Scenarios through both sides, many at once; what the sides show is compared."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from testbed.differential.scaler.contest import SYNC_PERIOD_SECONDS
from testbed.differential.scaler.deviations import kept_on_purpose
from testbed.differential.scaler.drive import CACHE_SECONDS, Disturbed, Drive, Views
from testbed.differential.scaler.seen import Difference, differences, flattened
from testbed.differential.scaler.server import Worlds
from testbed.differential.scaler.side import Place, Side
from testbed.differential.scaler.situation import Scenario, Situation
from testbed.differential.scaler.worlds import NoLook, World
from wire.status import StatusError

AT_ONCE = 70
ATTEMPTS_MAX = 5
# Events, and everything where looks pass no gate, come a moment later.
AGREE_DEADLINE_SECONDS = 20.0
UNGATED_DEADLINE_SECONDS = 20.0
# At least two looks of either side.
UNGATED_SETTLE_SECONDS = 2.4 * SYNC_PERIOD_SECONDS
POLL_SECONDS = 0.2
SUSPICION_SECONDS = 5.0

_T = TypeVar("_T")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """How a scenario ended; `error` tells why it did not."""

    scenario: Scenario
    differences: tuple[Difference, ...] = ()
    deviations: tuple[str, ...] = ()  # by name, those that were met
    error: str = ""
    disturbances: tuple[str, ...] = ()  # why it had to be run again
    doubts: tuple[Difference, ...] = ()  # what an attempt found and the next did not
    elapsed_seconds: float = 0.0
    views: Views = {}  # what theirs showed


async def run_all(
    scenarios: Sequence[Scenario],
    sides: tuple[Side, Side],
    worlds: Worlds,
    *,
    at_once: int = AT_ONCE,
    report: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Every scenario on (theirs, ours); results in the order of the scenarios."""
    free = asyncio.Semaphore(at_once)

    async def one(number: int, scenario: Scenario) -> Result:
        async with free:
            result = await _attempts(scenario, sides, worlds, number)
            report(result)
            return result

    # The longest first, so that none of them is left alone at the end.
    ordered = sorted(enumerate(scenarios), key=lambda numbered: -_looks(numbered[1]))
    results = await asyncio.gather(*(one(*each) for each in ordered))
    by_name = {each.scenario.name: each for each in results}
    return [by_name[each.name] for each in scenarios]


def _looks(scenario: Scenario) -> int:
    return sum(step.looks for step in scenario.steps)


async def _attempts(
    scenario: Scenario, sides: tuple[Side, Side], worlds: Worlds, number: int
) -> Result:
    """Again from the start when the machine was too slow, whatever the sides have shown until then."""
    started_at = time.monotonic()
    disturbances: list[str] = []
    doubts: tuple[Difference, ...] = ()
    for attempt in range(1, ATTEMPTS_MAX + 1):
        places = tuple(_place(side, worlds, scenario, f"{number:04d}-{attempt}") for side in sides)
        run = _Run(scenario, places)
        try:
            result = await run.whole()
        except (Disturbed, NoLook, StatusError) as error:
            result = Result(scenario=scenario, error=str(error))
            if isinstance(error, Disturbed):
                disturbances.append(str(error))
                continue
        finally:
            for place in places:
                await place.clear()
        if not result.differences or doubts:
            break
        # A scenario gives the same each time, unless a copy of the cluster was old on a busy machine.
        doubts = result.differences
    elapsed_seconds = time.monotonic() - started_at
    return msgspec.structs.replace(
        result,
        disturbances=tuple(disturbances),
        doubts=() if result.differences else doubts,
        elapsed_seconds=elapsed_seconds,
    )


def _place(side: Side, worlds: Worlds, scenario: Scenario, name: str) -> Place:
    namespace = f"{side.label}-{name}"
    world = worlds.of[namespace] = World(scenario.steps[0].situation)
    return Place(side, namespace, world)


class _Run:
    """One attempt at one scenario on both sides."""

    def __init__(self, scenario: Scenario, places: tuple[Place, ...]) -> None:
        self._scenario = scenario
        self._places = places
        self._deviations: set[str] = set()

    async def whole(self) -> Result:
        """Raises Disturbed, NoLook and StatusError."""
        gated = self._scenario.is_gated
        views = await self._gated() if gated else await self._ungated()
        found: list[Difference] = []
        for step in views[0]:
            # What follows from a difference says nothing new.
            found = found or self._differences(step, views)
        await self._undisturbed(settle_seconds=SUSPICION_SECONDS if found else 0.0)
        return Result(
            scenario=self._scenario,
            differences=tuple(found),
            deviations=tuple(sorted(self._deviations)),
            views=views[0],
        )

    async def _gated(self) -> list[Views]:
        views = await self._both(lambda place: Drive(self._scenario, place).views())
        # The looks of both sides wait at their gates now; what is still under way are events.
        await asyncio.sleep(CACHE_SECONDS)
        await self._agreed(views, "end", counted=True, deadline_seconds=AGREE_DEADLINE_SECONDS)
        return views

    async def _undisturbed(self, *, settle_seconds: float) -> None:
        """Raises Disturbed when a status could not be written; the event that tells may still be under way."""
        if not self._scenario.is_gated:
            return
        await asyncio.sleep(settle_seconds)
        for place in self._places:
            if place.side.events.conflicts(place.namespace):
                raise Disturbed(f"{place.namespace}: a look was begun with an old autoscaler")

    async def _ungated(self) -> list[Views]:
        views: list[Views] = [{} for _ in self._places]
        before = self._scenario.steps[0].situation
        for place in self._places:
            for gate in place.world.gates():
                gate.open()
        await self._both(lambda place: place.prepare(before))
        for number, step in enumerate(self._scenario.steps, start=1):
            await self._become(before, step.situation)
            await asyncio.sleep(UNGATED_SETTLE_SECONDS)
            await self._agreed(
                views, f"{number}.0", counted=False, deadline_seconds=UNGATED_DEADLINE_SECONDS
            )
            before = step.situation
        return views

    async def _become(self, before: Situation, after: Situation) -> None:
        await self._both(lambda place: place.change_specs(before, after))
        await self._both(lambda place: place.change_pods(before, after))
        for place in self._places:
            place.world.become(after)

    async def _agreed(
        self, views: list[Views], step: str, *, counted: bool, deadline_seconds: float
    ) -> None:
        """Look at both sides until they agree, or until the time is over."""
        ends_at = time.monotonic() + deadline_seconds
        while True:
            seen = await self._both(lambda place: place.seen(counted=counted))
            for view, each in zip(views, seen, strict=True):
                view[step] = flattened(each, None)
            if not self._differences(step, views) or time.monotonic() > ends_at:
                return
            await asyncio.sleep(POLL_SECONDS)

    def _differences(self, step: str, views: Sequence[Views]) -> list[Difference]:
        theirs, ours = views
        found = differences(self._scenario.name, step, theirs[step], ours[step])
        meant = {each.what: kept_on_purpose(self._scenario, each) for each in found}
        self._deviations |= {name for name in meant.values() if name}
        return [each for each in found if not meant[each.what]]

    async def _both(self, act: Callable[[Place], Awaitable[_T]]) -> list[_T]:
        """To its end on both, before the error of either is raised."""
        ended = await asyncio.gather(*(act(each) for each in self._places), return_exceptions=True)
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return [each for each in ended if not isinstance(each, BaseException)]


def categories(results: Iterable[Result]) -> dict[str, tuple[int, int]]:
    """By category: how many scenarios, and how many of them did not agree."""
    counts: dict[str, tuple[int, int]] = {}
    for each in results:
        total, failed = counts.get(each.scenario.category, (0, 0))
        bad = bool(each.differences or each.error)
        counts[each.scenario.category] = (total + 1, failed + bad)
    return counts
