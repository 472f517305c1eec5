"""`python -m testbed.mutants`: which small mistakes in the code do the tests find? Exit code 1 below 95% in a package."""

import argparse
import sys
import time
from typing import Final

from testbed.mutants.candidates import Mutant, chosen
from testbed.mutants.packages import MUTATED, MutatedPackage
from testbed.mutants.results import (
    Recorded,
    Result,
    equivalent,
    record,
    recorded,
    scores,
)
from testbed.mutants.workspace import MutmutFailed, Workspace

PERCENT_MIN: Final = 95
_UNNOTICED: Final = (Result.SURVIVED, Result.NO_TESTS)


def main() -> int:
    """Print each survivor, and the score of each package."""
    arguments = _parser().parse_args()
    names = [each.name for each in MUTATED]
    if unknown := [each for each in arguments.package if each not in names]:
        print(f"{unknown[0]!r} is not a mutated package: use {', '.join(names)}", file=sys.stderr)
        return 2
    if arguments.turn is not None:
        arguments.package = [names[arguments.turn % len(names)]]
    for package in MUTATED:
        if package.name in (arguments.package or names):
            try:
                _run(package, arguments)
            except MutmutFailed as failed:
                print(f"mutmut failed:\n{failed}", file=sys.stderr)
                return 2
    print(f"\n{'package':16}{'found':>8}{'survived':>10}{'equivalent':>12}{'score':>9}")
    found = [each for each in scores(recorded()) if each.package in (arguments.package or names)]
    for each in found:
        row = f"{each.package:16}{each.found:>8}{each.survived:>10}{each.equivalent:>12}"
        print(f"{row}{each.percent:>8.1f}%")
    return 0 if all(each.percent >= PERCENT_MIN for each in found) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m testbed.mutants")
    parser.add_argument(
        "package", nargs="*", help=f"{', '.join(each.name for each in MUTATED)} (default: all)"
    )
    parser.add_argument("--processes", type=int, default=1, help="how many mutants run at a time")
    parser.add_argument(
        "--function", default="", metavar="TEXT", help="only functions whose dotted name has this"
    )
    parser.add_argument(
        "--turn", type=int, metavar="N", help="only the package with this number: for the soak"
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--all", action="store_true", help="all mutants, not a sample of them")
    group.add_argument(
        "--survivors", action="store_true", help="only those that survived the last time"
    )
    return parser


def _run(package: MutatedPackage, arguments: argparse.Namespace) -> None:
    started = time.monotonic()
    workspace = Workspace(package, package.tests)
    mutants = workspace.mutants()
    known = {each.key: each for each in recorded() if each.package == package.name}
    selected = mutants if arguments.all else chosen(mutants, package.sample)
    if arguments.survivors:
        selected = [each for each in mutants if _result_of(each, known) in _UNNOTICED]
    selected = [each for each in selected if arguments.function in each.function]
    reasons = {each.key: each.reason for each in equivalent()}
    tried = [each for each in selected if each.key not in reasons]
    made = time.monotonic()
    results = workspace.results(tried, arguments.processes)
    results |= {each: Result.EQUIVALENT for each in selected if each.key in reasons}
    _record(package, mutants, results)
    if survivors := [each for each, result in results.items() if result in _UNNOTICED]:
        further = Workspace(package, package.further)
        further.mutants()
        for mutant, result in further.results(survivors, arguments.processes).items():
            # Called by the first tests, though not by these.
            results[mutant] = results[mutant] if result is Result.NO_TESTS else result
        _record(package, mutants, results)
    ran = time.monotonic()
    print(
        f"{package.name}: {len(tried)} of {len(mutants)} mutants, "
        f"{made - started:.0f} s to make them, {ran - made:.0f} s to run them"
    )
    for mutant, result in results.items():
        if result in _UNNOTICED:
            print(f"  {result}: {mutant.function}\n    {mutant.change}")


def _record(package: MutatedPackage, mutants: list[Mutant], results: dict[Mutant, Result]) -> None:
    """Beside the earlier results of the other mutants that still exist."""
    exist = {each.key for each in mutants} - {each.key for each in results}
    earlier = [each for each in recorded() if each.package != package.name or each.key in exist]
    latest = [
        Recorded(package.name, mutant.function, mutant.change, result)
        for mutant, result in results.items()
    ]
    record([*earlier, *latest])


def _result_of(mutant: Mutant, known: dict[tuple[str, str], Recorded]) -> Result | None:
    found = known.get(mutant.key)
    return None if found is None else found.result


if __name__ == "__main__":
    sys.exit(main())
