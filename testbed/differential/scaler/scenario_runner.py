"""Run scenarios on both sides, many at once, and compare what the sides show."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import msgspec

from testbed.differential.scaler.environment import SYNC_PERIOD_SECONDS
from testbed.differential.scaler.lockstep import CACHE_SECONDS, Disturbed, LockstepRun, Views
from testbed.differential.scaler.namespace_script import NamespaceScript, NoReconcile
from testbed.differential.scaler.observed_state import Difference, differences, flattened
from testbed.differential.scaler.scaler_deviations import deviation_explaining
from testbed.differential.scaler.scenario_model import ClusterState, Scenario
from testbed.differential.scaler.scripted_api import ScriptedAPI
from testbed.differential.scaler.side import HPA, ScenarioNamespace, Side
from wire.api.status import StatusError

AT_ONCE = 70
ATTEMPTS_MAX = 5
FEWER_AT_ONCE = 3
# Events arrive later, and so does everything where reconciles pass no gate. A reconcile that waits at its gate for 60 s fails.
AGREE_DEADLINE_SECONDS = 40.0
# On a busy machine, they may not have been stored by then.
EVENTS_LATE_SECONDS = 5.0
# At least two reconciles of either side.
UNGATED_SETTLE_SECONDS = 2.4 * SYNC_PERIOD_SECONDS
# Each poll reads the objects of both sides. Scenarios that all polled five times a second kept a busy API server from
# storing the events that they waited for.
POLL_SECONDS, POLL_SECONDS_MAX = 0.2, 5.0
CONFLICT_EVENT_SECONDS = 5.0
# Of the results of a run. Where more scenarios differ in only one of all attempts, the cause is not a busy machine.
UNCONFIRMED_MAX, UNCONFIRMED_SHARE_MAX = 2, 0.05
# What a side reports of a server of the testbed that was too slow for it. A scenario that scripts it does so for both sides.
TOO_SLOW = (
    "no answer within",
    "context deadline exceeded",
    "the server is currently unable to handle the request",
)

_T = TypeVar("_T")


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a scenario; `error` says why it could not be completed."""

    scenario: Scenario
    differences: tuple[Difference, ...] = ()
    deviations: tuple[str, ...] = ()  # the names of those found
    error: str = ""
    disturbances: tuple[str, ...] = ()  # why it was run again
    unconfirmed: tuple[Difference, ...] = ()  # found by one attempt and not by the next
    elapsed_seconds: float = 0.0
    views: Views = {}  # of the HPA controller
    is_preliminary: bool = False  # it must be run again


async def run_all(
    scenarios: Sequence[Scenario],
    sides: tuple[Side, Side],
    api: ScriptedAPI,
    *,
    at_once: int = AT_ONCE,
    report: Callable[[Result], None] = lambda _: None,
) -> list[Result]:
    """Run every scenario on both sides (upstream, loadline); results are in the order of the scenarios.

    Those for which the machine was too slow, or that differ for the first time, are run again, fewer of them at once.
    """
    # The longest first, so that none runs alone at the end.
    pending = sorted(range(len(scenarios)), key=lambda number: -_reconciles(scenarios[number]))
    results = [Result(scenario=each) for each in scenarios]
    for attempt in range(1, ATTEMPTS_MAX + 1):
        free = asyncio.Semaphore(max(1, at_once // FEWER_AT_ONCE ** (attempt - 1)))

        async def one(number: int, free: asyncio.Semaphore, attempt: int) -> None:
            async with free:
                name = f"{number:04d}-{attempt}"
                results[number] = await _attempted(results[number], sides, api, name)
            if not results[number].is_preliminary or attempt == ATTEMPTS_MAX:
                report(results[number])

        await asyncio.gather(*(one(number, free, attempt) for number in pending))
        pending = [number for number in pending if results[number].is_preliminary]
    return results


def _reconciles(scenario: Scenario) -> int:
    return sum(step.reconciles for step in scenario.steps)


async def _attempted(
    before: Result, sides: tuple[Side, Side], api: ScriptedAPI, name: str
) -> Result:
    """Run it from the start, after the attempts of `before`."""
    started_at = time.monotonic()
    scenario = before.scenario
    namespaces = tuple(_scenario_namespace(side, api, scenario, name) for side in sides)
    try:
        result = confirmed(before, await _Run(scenario, namespaces).whole())
    except Disturbed as error:
        result = disturbed(before, str(error))
    except (NoReconcile, StatusError) as error:
        result = Result(scenario=scenario, error=str(error), disturbances=before.disturbances)
    finally:
        for each in namespaces:
            await each.clear()
    elapsed_seconds = before.elapsed_seconds + time.monotonic() - started_at
    return msgspec.structs.replace(result, elapsed_seconds=elapsed_seconds)


def disturbed(before: Result, cause: str) -> Result:
    """The machine was too slow for this attempt. An earlier one that found nothing still counts."""
    found_nothing = bool(before.unconfirmed) and not before.differences
    return msgspec.structs.replace(
        before,
        error="" if found_nothing else cause,
        disturbances=(*before.disturbances, cause),
        is_preliminary=True,
    )


def confirmed(before: Result, found: Result) -> Result:
    """Scenarios are deterministic, unless a watch cache was stale on a busy machine: a difference must be found twice.

    After the first one, all other attempts are made, and it is an accident only if none of them finds one.
    """
    is_second = bool(found.differences) and bool(before.unconfirmed)
    unconfirmed = () if is_second else before.unconfirmed or found.differences
    return msgspec.structs.replace(
        found,
        disturbances=before.disturbances,
        unconfirmed=unconfirmed,
        is_preliminary=bool(unconfirmed),
    )


def check_answered(found: Iterable[Difference]) -> None:
    """Raises Disturbed if a server of the testbed has answered only one side in time."""
    for each in found:
        for text in TOO_SLOW:
            if (text in str(each.upstream)) != (text in str(each.loadline)):
                raise Disturbed(f"{each.what}, step {each.step}: {text}")


def unexplained_once(results: Iterable[Result]) -> list[Difference]:
    """The differences that were found only once, if too many scenarios have one."""
    every = list(results)
    found = [each.unconfirmed for each in every if each.unconfirmed]
    if len(found) <= max(UNCONFIRMED_MAX, UNCONFIRMED_SHARE_MAX * len(every)):
        return []
    return [difference for differences in found for difference in differences]


def _scenario_namespace(
    side: Side, api: ScriptedAPI, scenario: Scenario, name: str
) -> ScenarioNamespace:
    namespace = f"{side.label}-{name}"
    script = api.scripts[namespace] = NamespaceScript(
        scenario.steps[0].state, is_reread_after_each_error=side.rereads_after_each_error
    )
    return ScenarioNamespace(side, namespace, script)


class _Run:
    """One attempt at one scenario on both sides."""

    def __init__(self, scenario: Scenario, namespaces: tuple[ScenarioNamespace, ...]) -> None:
        self._scenario = scenario
        self._namespaces = namespaces
        self._deviations: set[str] = set()

    async def whole(self) -> Result:
        """Run it. Raises Disturbed, NoReconcile and StatusError."""
        gated = self._scenario.is_gated
        views = await self._gated() if gated else await self._ungated()
        found: list[Difference] = []
        for step in views[0]:
            # Later differences follow from the first one.
            found = found or self._differences(step, views)
        if found:
            check_answered(found)
            self._check_events_in_time()
        await self._check_undisturbed(settle_seconds=CONFLICT_EVENT_SECONDS if found else 0.0)
        return Result(
            scenario=self._scenario,
            differences=tuple(found),
            deviations=tuple(sorted(self._deviations)),
            views=views[0],
        )

    async def _gated(self) -> list[Views]:
        views = await self._both(lambda each: LockstepRun(self._scenario, each).views())
        # The next reconciles wait at their gates now; only events may still arrive.
        await asyncio.sleep(CACHE_SECONDS)
        await self._agreed(views, "end", counted=True)
        return views

    def _check_events_in_time(self) -> None:
        """Raises Disturbed if events may be missing because they are not stored yet."""
        for each in self._namespaces:
            late_seconds = each.side.events.late_seconds
            if late_seconds > EVENTS_LATE_SECONDS:
                raise Disturbed(f"{each.name}: events are stored {late_seconds:.0f} s late")

    async def _check_undisturbed(self, *, settle_seconds: float) -> None:
        """Raises Disturbed if a status could not be written, which an event reports a moment later."""
        if not self._scenario.is_gated:
            return
        await asyncio.sleep(settle_seconds)
        for each in self._namespaces:
            if each.side.events.conflicts(each.name):
                raise Disturbed(f"{each.name}: a reconcile started with a stale autoscaler")

    async def _ungated(self) -> list[Views]:
        views: list[Views] = [{} for _ in self._namespaces]
        before = self._scenario.steps[0].state
        for each in self._namespaces:
            for gate in each.script.gates():
                gate.open()
        await self._both(lambda each: each.prepare(before))
        for number, step in enumerate(self._scenario.steps, start=1):
            await self._apply(before, step.state)
            await asyncio.sleep(UNGATED_SETTLE_SECONDS)
            await self._agreed(views, f"{number}.0", counted=False)
            before = step.state
        return views

    async def _apply(self, before: ClusterState, after: ClusterState) -> None:
        await self._both(lambda each: each.change_specs(before, after))
        await self._both(lambda each: each.change_pods(before, after))
        for each in self._namespaces:
            each.script.apply(after)

    async def _agreed(self, views: list[Views], step: str, *, counted: bool) -> None:
        """Observe both sides until they agree or the deadline is reached."""
        ends_at = time.monotonic() + AGREE_DEADLINE_SECONDS
        pause_seconds = POLL_SECONDS
        while True:
            observed = await self._both(lambda each: each.observed(counted=counted))
            for view, each in zip(views, observed, strict=True):
                view[step] = flattened(each, None)
            if not self._differences(step, views) or time.monotonic() > ends_at:
                return
            await asyncio.sleep(pause_seconds)
            pause_seconds = min(2 * pause_seconds, POLL_SECONDS_MAX)

    def _differences(self, step: str, views: Sequence[Views]) -> list[Difference]:
        found = differences(self._scenario.name, step, views[0][step], views[1][step])
        of_hpas = all(each.side.kind is HPA for each in self._namespaces)
        upstream = self._namespaces[0].side.upstream
        explained = {
            each.what: deviation_explaining(self._scenario, each, upstream, of_hpas=of_hpas)
            for each in found
        }
        self._deviations |= {name for name in explained.values() if name}
        return [each for each in found if not explained[each.what]]

    async def _both(self, act: Callable[[ScenarioNamespace], Awaitable[_T]]) -> list[_T]:
        """Run `act` to completion on both sides before raising an exception of either."""
        ended = await asyncio.gather(
            *(act(each) for each in self._namespaces), return_exceptions=True
        )
        for each in ended:
            if isinstance(each, BaseException):
                raise each
        return [each for each in ended if not isinstance(each, BaseException)]


def categories(results: Iterable[Result]) -> dict[str, tuple[int, int]]:
    """By category: the number of scenarios, and of those that differ."""
    counts: dict[str, tuple[int, int]] = {}
    for each in results:
        total, failed = counts.get(each.scenario.category, (0, 0))
        bad = bool(each.differences or each.error)
        counts[each.scenario.category] = (total + 1, failed + bad)
    return counts
