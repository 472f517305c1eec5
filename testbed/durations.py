"""`python -m testbed.durations`: how long each part of the tests took, from the JUnit files of `make test`.

The times of tests that run at once are added up.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

ROOT = Path(__file__).parents[1]
JUNIT = ROOT / "out" / "junit"
LONGEST = 15
SECONDS_PER_MINUTE = 60


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A directory of tests."""

    name: str
    tests: int
    seconds: float


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One test, with the time of its fixtures."""

    name: str
    module: str
    seconds: float

    @property
    def part(self) -> str:
        """The directory below `tests`."""
        return "/".join(self.module.split(".")[:2])


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if there are no JUnit files."""
    parser = argparse.ArgumentParser(prog="python -m testbed.durations", description=__doc__)
    parser.parse_args(arguments)
    files = sorted(JUNIT.glob("*.xml"))
    if not files:
        print(f"No JUnit files in {JUNIT.relative_to(ROOT)}; run make test first", file=sys.stderr)
        return 1
    cases = list(cases_of(files))
    parts = parts_of(cases)
    print(table(parts))
    print("\nThe longest:")
    for case in sorted(cases, key=lambda each: -each.seconds)[:LONGEST]:
        print(f"{case.seconds:8.1f} s  {case.module} {case.name}")
    return 0


def cases_of(files: Iterable[Path]) -> Iterable[Case]:
    """Every test in JUnit files that pytest wrote."""
    for file in files:
        for found in ElementTree.parse(file).iter("testcase"):  # noqa: S314 - pytest wrote it
            yield Case(
                name=found.get("name", ""),
                module=found.get("classname", ""),
                seconds=float(found.get("time", "0")),
            )


def parts_of(cases: Iterable[Case]) -> list[Part]:
    """By directory, the longest first."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for case in cases:
        seconds[case.part].append(case.seconds)
    found = [
        Part(name=name, tests=len(times), seconds=round(sum(times), 1))
        for name, times in seconds.items()
    ]
    return sorted(found, key=lambda each: -each.seconds)


def table(parts: Iterable[Part]) -> str:
    """In Markdown."""
    rows = [f"| `{each.name}` | {each.tests:,} | {minutes(each.seconds)} |" for each in parts]
    return "\n".join(("| part | tests | time |", "|---|---|---|", *rows))


def minutes(seconds: float) -> str:
    """Seconds below two minutes."""
    if seconds < 2 * SECONDS_PER_MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / SECONDS_PER_MINUTE:.0f} min"


if __name__ == "__main__":
    sys.exit(main())
