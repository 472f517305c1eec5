"""`python -m testbed.differential.scaler`: any number of scenarios, with a report."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from testbed.differential.scaler.contest import Variant, contest
from testbed.differential.scaler.run import AT_ONCE, Result, categories, run_all
from testbed.differential.scaler.scenarios.selection import selected
from testbed.differential.scaler.situation import Scenario
from wire.serving.runtime import run


def main() -> int:
    """0 when nothing differs."""
    parser = argparse.ArgumentParser(prog="python -m testbed.differential.scaler")
    parser.add_argument("--random", type=int, default=60, help="random scenarios (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the random ones (%(default)s)")
    parser.add_argument("--only", default="", help="names that contain this")
    parser.add_argument("--itself", action="store_true", help="the HPA controller on both sides")
    parser.add_argument("--hpa", action="store_true", help="ours scales HPAs, in its own cluster")
    parser.add_argument("--zero", action="store_true", help="gate HPAScaleToZero on, on both sides")
    parser.add_argument("--show", action="store_true", help="what theirs showed after each step")
    parser.add_argument("--at-once", type=int, default=AT_ONCE)
    arguments = parser.parse_args()
    scenarios = [
        each
        for each in selected(random_count=arguments.random, seed=arguments.seed)
        if arguments.only in each.name
    ]
    variant = Variant(
        against_itself=arguments.itself,
        replaces_controller=arguments.hpa,
        scale_to_zero=arguments.zero,
    )
    directory = Path(tempfile.mkdtemp(prefix="loadline-differential-"))
    started_at = time.monotonic()
    results = run(_run(scenarios, variant, directory, arguments.at_once))
    if arguments.show:
        _show(results)
    for category, (total, failed) in sorted(categories(results).items()):
        print(f"{category:20} {total:4} scenarios, {failed} differ")
    failed = sum(bool(each.differences or each.error) for each in results)
    elapsed = time.monotonic() - started_at
    doubtful = sum(bool(each.doubts) for each in results)
    again = sum(len(each.disturbances) for each in results)
    print(
        f"{len(results)} scenarios, {failed} differ, {doubtful} differed once, {again} run again; {elapsed:.0f} s; logs: {directory}"
    )
    return 1 if failed else 0


async def _run(
    scenarios: list[Scenario], variant: Variant, directory: Path, at_once: int
) -> list[Result]:
    async with contest(variant, directory) as running:
        return await run_all(
            scenarios, running.sides, running.worlds, at_once=at_once, report=_tell
        )


def _tell(result: Result) -> None:
    for difference in result.differences:
        print(difference)
    if result.error:
        print(f"{result.scenario.name}: {result.error}")
    for doubt in result.doubts:
        print(f"only once: {doubt}")
    for disturbance in result.disturbances:
        print(f"{result.scenario.name}: run again: {disturbance}")
    if result.deviations:
        print(f"{result.scenario.name}: on purpose: {', '.join(result.deviations)}")


def _show(results: list[Result]) -> None:
    for result in results:
        for number, view in result.views.items():
            print(f"{result.scenario.name}, step {number}:")
            for what, value in view.items():
                print(f"    {what}: {value}")


if __name__ == "__main__":
    sys.exit(main())
