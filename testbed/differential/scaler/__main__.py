"""`python -m testbed.differential.scaler`: run scenarios and print the differences."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from testbed import assets
from testbed.differential.scaler.environment import COMPARED_VERSIONS, Variant, environment
from testbed.differential.scaler.scenario_model import Scenario
from testbed.differential.scaler.scenario_runner import (
    AT_ONCE,
    Result,
    categories,
    run_all,
    unexplained_once,
)
from testbed.differential.scaler.scenarios.selection import selected
from testbed.soak.regressions import Regression, record, today
from wire.process.event_loop import run


def main() -> int:
    """Exit code 0 if nothing differs: see `unexplained_once` for what was not reproduced."""
    parser = argparse.ArgumentParser(prog="python -m testbed.differential.scaler")
    parser.add_argument("--random", type=int, default=60, help="random scenarios (%(default)s)")
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the random scenarios (%(default)s)"
    )
    parser.add_argument("--only", default="", help="only scenarios whose name contains this")
    parser.add_argument(
        "--itself", action="store_true", help="compare the HPA controller with itself"
    )
    parser.add_argument(
        "--hpa", action="store_true", help="Loadline scales HPAs, in a cluster of its own"
    )
    parser.add_argument(
        "--kubernetes",
        choices=COMPARED_VERSIONS,
        default=assets.chosen_kubernetes(),
        help="the version of the HPA controller and of the API servers (%(default)s)",
    )
    parser.add_argument(
        "--zero",
        action=argparse.BooleanOptionalAction,
        help="the feature gate HPAScaleToZero on both sides (the default of the version)",
    )
    parser.add_argument(
        "--show", action="store_true", help="print what the HPA controller did after each step"
    )
    parser.add_argument(
        "--record", action="store_true",
        help="record random scenarios that differ, so that `make test` runs them, too",
    )  # fmt: skip
    parser.add_argument(
        "--at-once", type=int, default=AT_ONCE, help="concurrent scenarios (%(default)s)"
    )
    arguments = parser.parse_args()
    scenarios = [
        each
        for each in selected(random_count=arguments.random, seed=arguments.seed)
        if arguments.only in each.name
    ]
    variant = Variant(
        kubernetes=arguments.kubernetes,
        against_itself=arguments.itself,
        replaces_controller=arguments.hpa,
        scale_to_zero=arguments.zero,
    )
    directory = Path(tempfile.mkdtemp(prefix="loadline-differential-"))
    started_at = time.monotonic()
    results = run(_run(scenarios, variant, directory, arguments.at_once))
    if arguments.show:
        _show(results)
    if arguments.record:
        _record(results, source="scaler --hpa" if arguments.hpa else "scaler")
    for category, (total, failed) in sorted(categories(results).items()):
        print(f"{category:20} {total:4} scenarios, {failed} differ")
    failed = sum(bool(each.differences or each.error) for each in results)
    elapsed = time.monotonic() - started_at
    unconfirmed = sum(bool(each.unconfirmed) for each in results)
    repeated = sum(len(each.disturbances) for each in results)
    print(
        f"{len(results)} scenarios, {failed} differ, {unconfirmed} differed once, {repeated} run again; {elapsed:.0f} s; logs: {directory}"
    )
    once = unexplained_once(results)
    for difference in once:
        print(f"not reproduced, and not an accident: {difference}")
    return 1 if failed or once else 0


async def _run(
    scenarios: list[Scenario], variant: Variant, directory: Path, at_once: int
) -> list[Result]:
    async with environment(variant, directory) as running:
        return await run_all(scenarios, running.sides, running.api, at_once=at_once, report=_report)


def _report(result: Result) -> None:
    for difference in result.differences:
        print(difference)
    if result.error:
        print(f"{result.scenario.name}: {result.error}")
    for difference in result.unconfirmed:
        print(f"not reproduced: {difference}")
    for disturbance in result.disturbances:
        print(f"{result.scenario.name}: run again: {disturbance}")
    if result.deviations:
        print(f"{result.scenario.name}: intended: {', '.join(result.deviations)}")


def _record(results: list[Result], *, source: str) -> None:
    for each in results:
        findings = [each.error] if each.error else [one.what for one in each.differences]
        if findings and each.scenario.category == "random":
            seed = each.scenario.name.removeprefix("random: ")
            record(Regression(source=source, case=seed, finding=findings[0], date=today()))


def _show(results: list[Result]) -> None:
    for result in results:
        for number, view in result.views.items():
            print(f"{result.scenario.name}, step {number}:")
            for what, value in view.items():
                print(f"    {what}: {value}")


if __name__ == "__main__":
    sys.exit(main())
