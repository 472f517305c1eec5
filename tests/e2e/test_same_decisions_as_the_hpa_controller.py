"""Loadline's scaler decides as the real HPA controller does: same objects, pods and metrics, reconcile by reconcile.

The scenarios of a variant run at once; then there is one test for each. Everything runs beside the controller of the
newest Kubernetes version, and what differs between versions beside the other ones; `LOADLINE_KUBERNETES` chooses
another version for everything. `LOADLINE_DIFFERENTIAL_RANDOM` sets the number of random scenarios besides the
handwritten ones, `LOADLINE_DIFFERENTIAL_SEED` their seed. Random ones that differed once in a soak are always among them.
`LOADLINE_DIFFERENTIAL_VARIANTS=all`, as in a soak, runs all handwritten scenarios instead of every third one, and adds the
variants that differ in few code paths from those that are run.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from testbed import assets
from testbed.differential.scaler.environment import COMPARED_VERSIONS, Variant, environment
from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenario_runner import (
    Result,
    categories,
    run_all,
    unexplained_once,
)
from testbed.differential.scaler.scenarios.selection import selected
from testbed.soak.regressions import recorded
from tests.summaries import SUMMARY
from wire.process.event_loop import run

RANDOM = int(os.environ.get("LOADLINE_DIFFERENTIAL_RANDOM", "12"))
ALL_VARIANTS = os.environ.get("LOADLINE_DIFFERENTIAL_VARIANTS") == "all"
SEED = int(os.environ.get("LOADLINE_DIFFERENTIAL_SEED", "1"))

REGRESSIONS = tuple(each.case for each in recorded("scaler"))
ALL_SCENARIOS = selected(random_count=RANDOM, seed=SEED, again=REGRESSIONS)


def some(*categories_: str, each: int) -> tuple[Scenario, ...]:
    """All scenarios of these categories and every `each`-th of the others, without the long ones about events."""
    return tuple(
        scenario
        for number, scenario in enumerate(ALL_SCENARIOS)
        if scenario.category in categories_
        or scenario.name.removeprefix("random: ") in REGRESSIONS
        or (number % each == 0 and scenario.category != "events")
    )


def variants() -> dict[str, tuple[Variant, Sequence[Scenario]]]:
    """All of the chosen version of Kubernetes; of the other ones, what differs between versions.

    The other variants of a version differ in few code paths, so a sample of the other scenarios is enough.
    """
    newest, *older = COMPARED_VERSIONS
    chosen = assets.chosen_kubernetes()
    found = _of_version(chosen if chosen in COMPARED_VERSIONS else older[-1])
    if chosen == newest:
        for version in older:
            found |= _of_older_version(version)
    return found


def _of_version(version: str) -> dict[str, tuple[Variant, Sequence[Scenario]]]:
    plain = Variant(kubernetes=version)
    # The controller of 1.35 has no such gate.
    to_zero = not plain.scales_to_zero or not plain.upstream.marks_zero
    other_gate = Variant(kubernetes=version, scale_to_zero=to_zero, custom_version="v1beta1")
    hpa = Variant(kubernetes=version, replaces_controller=True, downscale_stabilization_seconds=0.0)
    return {
        f"a LoadAutoscaler, {version}": (plain, ALL_SCENARIOS if ALL_VARIANTS else _third()),
        f"a LoadAutoscaler with{'' if to_zero else 'out'} scale to zero, {version}": (
            other_gate,
            some("zero", each=15),
        ),
        f"an HPA, {version}": (hpa, some("plain", "ambiguous", "deployment", "zero", each=15)),
    }


def _third() -> tuple[Scenario, ...]:
    """Every third scenario, and all of what other variants run as well."""
    return some("events", "plain", "ambiguous", "zero", "deployment", each=3)


def _of_older_version(version: str) -> dict[str, tuple[Variant, Sequence[Scenario]]]:
    hpa = Variant(kubernetes=version, replaces_controller=True, scale_to_zero=True)
    found: dict[str, tuple[Variant, Sequence[Scenario]]] = {
        f"an HPA, {version}": (hpa, some("ambiguous", "object", "zero", each=40)),
    }
    if ALL_VARIANTS:
        # A LoadAutoscaler behaves alike on every version; here it is compared with the controller of this one.
        differing = some("ambiguous", "object", each=40)
        found[f"a LoadAutoscaler, {version}"] = (Variant(kubernetes=version), differing)
    return found


VARIANTS = variants()


class VariantResults:
    """The results of each variant, which runs when its first test needs them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._results: dict[str, dict[str, Result]] = {}
        self._summaries: dict[str, str] = {}

    def of(self, variant: str) -> dict[str, Result]:
        """By the name of the scenario."""
        if variant not in self._results:
            self._results[variant] = self._run(variant)
        return self._results[variant]

    def summary_of(self, variant: str) -> str:
        """What was run and how long it took. Raises KeyError if it did not run."""
        return self._summaries[variant]

    def _run(self, variant: str) -> dict[str, Result]:
        options, scenarios = VARIANTS[variant]
        started_at = time.monotonic()
        results = run(
            _run(options, scenarios, self._directory / variant.replace(" ", "-").replace(",", ""))
        )
        elapsed_seconds = time.monotonic() - started_at
        line = f"{variant}: {summary(results)}; seed {SEED}, {elapsed_seconds:.0f} s"
        self._summaries[variant] = "\n".join((line, *differed_once(results)))
        return {each.scenario.name: each for each in results}


def differed_once(results: Sequence[Result]) -> list[str]:
    """What was found once and never again: probably a slow machine, possibly a race."""
    return [f"  differed once: {difference}" for each in results for difference in each.unconfirmed]


def summary(results: Sequence[Result]) -> str:
    differ = sum(failed for _, failed in categories(results).values())
    unconfirmed = sum(bool(each.unconfirmed) for each in results)
    repeated = sum(len(each.disturbances) for each in results)
    counts = ", ".join(f"{total} {name}" for name, (total, _) in categories(results).items())
    return (
        f"{len(results)} scenarios ({counts}), {differ} differ, "
        f"{unconfirmed} differed once, {repeated} run again"
    )


async def _run(variant: Variant, scenarios: Sequence[Scenario], directory: Path) -> list[Result]:
    async with environment(variant, directory) as running:
        return await run_all(scenarios, running.sides, running.api)


@pytest.fixture(scope="module")
def results_of(tmp_path_factory: pytest.TempPathFactory) -> VariantResults:
    return VariantResults(tmp_path_factory.mktemp("differential"))


@pytest.mark.parametrize(
    ("variant", "scenario"),
    [
        pytest.param(variant, each.name, id=f"{variant}, {each.name}")
        for variant, (_, scenarios) in VARIANTS.items()
        for each in scenarios
    ],
)
def test_the_scaler_decides_as_the_hpa_controller_does(variant, scenario, results_of):
    result = results_of.of(variant)[scenario]
    assert not result.error
    assert not result.differences, "\n" + "\n".join(map(str, result.differences))


@pytest.mark.parametrize("variant", VARIANTS)
def test_few_scenarios_differ_once(variant, results_of, record_property):
    found = unexplained_once(results_of.of(variant).values())
    record_property(SUMMARY, results_of.summary_of(variant))
    assert not found, "\n" + "\n".join(map(str, found))
