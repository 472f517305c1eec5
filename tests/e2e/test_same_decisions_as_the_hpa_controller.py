"""The scaler and the real HPA controller decide alike: same objects, pods and metrics, two namespaces, reconcile by reconcile.

One run for all scenarios of a variant, many at once; then one test for each. `LOADLINE_DIFFERENTIAL_RANDOM` says how
many random scenarios there are besides the hand-written ones, `LOADLINE_DIFFERENTIAL_SEED` which.
"""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from testbed.differential.scaler.environment import Variant, environment
from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenario_runner import Result, categories, run_all
from testbed.differential.scaler.scenarios.selection import selected
from wire.serving.event_loop import run

RANDOM = int(os.environ.get("LOADLINE_DIFFERENTIAL_RANDOM", "24"))
SEED = int(os.environ.get("LOADLINE_DIFFERENTIAL_SEED", "1"))

EVERY = selected(random_count=RANDOM, seed=SEED)


def some(*categories_: str, each: int) -> tuple[Scenario, ...]:
    """All of these categories, and one in so many of the others, but not the long ones about events."""
    return tuple(
        scenario
        for number, scenario in enumerate(EVERY)
        if scenario.category in categories_
        or (number % each == 0 and scenario.category != "events")
    )


# The other variants run the same code but for what they vary, so a sample of the rest is enough.
VARIANTS = {
    "a LoadAutoscaler": (Variant(), EVERY),
    "scale to zero": (
        Variant(scale_to_zero=True, custom_version="v1beta1"),
        some("zero", each=15),
    ),
    "an HPA of loadline": (
        Variant(replaces_controller=True, downscale_stabilization_seconds=0.0),
        some("plain", "ambiguous", "deployment", each=15),
    ),
}


class Ran:
    """The results of each variant; a variant runs when its first test asks."""

    def __init__(self, directory: Path, tell: Callable[[str], None]) -> None:
        self._directory = directory
        self._tell = tell
        self._results: dict[str, dict[str, Result]] = {}

    def result(self, variant: str, scenario: str) -> Result:
        if variant not in self._results:
            self._results[variant] = self._run(variant)
        return self._results[variant][scenario]

    def _run(self, variant: str) -> dict[str, Result]:
        options, scenarios = VARIANTS[variant]
        started_at = time.monotonic()
        results = run(_run(options, scenarios, self._directory / variant.replace(" ", "-")))
        elapsed_seconds = time.monotonic() - started_at
        self._tell(f"{variant}: {summary(results)}; seed {SEED}, {elapsed_seconds:.0f} s")
        return {each.scenario.name: each for each in results}


def summary(results: Sequence[Result]) -> str:
    differ = sum(failed for _, failed in categories(results).values())
    once = sum(bool(each.doubts) for each in results)
    again = sum(len(each.disturbances) for each in results)
    counts = ", ".join(f"{total} {name}" for name, (total, _) in categories(results).items())
    return (
        f"{len(results)} scenarios ({counts}), {differ} differ, "
        f"{once} differed once, {again} run again"
    )


async def _run(variant: Variant, scenarios: Sequence[Scenario], directory: Path) -> list[Result]:
    async with environment(variant, directory) as running:
        return await run_all(scenarios, running.sides, running.api)


@pytest.fixture(scope="module")
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    plugins = request.config.pluginmanager
    terminal, capture = plugins.get_plugin("terminalreporter"), plugins.get_plugin("capturemanager")

    def tell(line: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.write_line("")
            terminal.write_line(line)

    return Ran(tmp_path_factory.mktemp("differential"), tell)


@pytest.mark.parametrize(
    ("variant", "scenario"),
    [
        pytest.param(variant, each.name, id=f"{variant}, {each.name}")
        for variant, (_, scenarios) in VARIANTS.items()
        for each in scenarios
    ],
)
def test_it_decides_as_the_hpa_controller_does(variant, scenario, ran):
    result = ran.result(variant, scenario)
    assert not result.error
    assert not result.differences, "\n" + "\n".join(map(str, result.differences))
