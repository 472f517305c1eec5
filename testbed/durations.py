"""`python -m testbed.durations`: how long each part of the tests took, from the JUnit files of `make test`.

The times of tests that run at once are added up. With `--record`, the table in CONTRIBUTING.md is replaced; otherwise parts
that took twice as long as it says, or half as long, are named.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

ROOT = Path(__file__).parents[1]
JUNIT = ROOT / "out" / "junit"
DOCUMENT = ROOT / "CONTRIBUTING.md"
LONGEST = 15
HEADER = "| part | seconds |\n|---|---|\n"
# A part that differs by less is not named: machines differ, too.
DIFFERING_RATIO, DIFFERING_SECONDS = 2.0, 30.0
_ROW = re.compile(r"\| `(?P<name>[a-z0-9_/]+)` \| (?P<seconds>[\d,]+) \|\n")


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A directory of tests."""

    name: str
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
    parser.add_argument(
        "--record", action="store_true", help="replace the table in CONTRIBUTING.md"
    )
    given = parser.parse_args(arguments)
    files = sorted(JUNIT.glob("*.xml"))
    if not files:
        print(f"No JUnit files in {JUNIT.relative_to(ROOT)}; run make test first", file=sys.stderr)
        return 1
    cases = list(cases_of(files))
    parts = parts_of(cases)
    print(table(parts))
    print("The longest:")
    for case in sorted(cases, key=lambda each: -each.seconds)[:LONGEST]:
        print(f"{case.seconds:8.1f} s  {case.module} {case.name}")
    document = DOCUMENT.read_text()
    if given.record:
        DOCUMENT.write_text(with_table(document, parts))
    else:
        for line in differing(parts, parts_in(document)):
            print(line)
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
    seconds: dict[str, float] = defaultdict(float)
    for case in cases:
        seconds[case.part] += case.seconds
    found = [Part(name=name, seconds=round(times, 1)) for name, times in seconds.items()]
    return sorted(found, key=lambda each: -each.seconds)


def table(parts: Iterable[Part]) -> str:
    """In Markdown."""
    rows = (f"| `{each.name}` | {each.seconds:,.0f} |\n" for each in parts)
    return HEADER + "".join(rows)


def parts_in(document: str) -> list[Part]:
    """Those of the table in a document. Raises ValueError if it has no table of durations."""
    begin, end = _place(document)
    return [
        Part(
            name=row["name"],
            seconds=float(row["seconds"].replace(",", "")),
        )
        for row in _ROW.finditer(document, begin, end)
    ]


def with_table(document: str, parts: Iterable[Part]) -> str:
    """The document with the table of these parts in place of its own. Raises ValueError if it has none."""
    begin, end = _place(document)
    return document[:begin] + table(parts) + document[end:]


def _place(document: str) -> tuple[int, int]:
    """From where to where the table is."""
    begin = document.index(HEADER)
    end = begin + len(HEADER)
    while row := _ROW.match(document, end):
        end = row.end()
    return begin, end


def differing(measured: Iterable[Part], documented: Iterable[Part]) -> Iterator[str]:
    """What to say of parts that are much slower or faster than documented, and of parts that are new or gone."""
    before = {each.name: each for each in documented}
    for part in measured:
        known = before.pop(part.name, None)
        if known is None:
            yield f"{part.name} is not in the table of {DOCUMENT.name}: --record"
        elif _differs(part.seconds, known.seconds):
            yield f"{part.name} took {part.seconds:.0f} s; {DOCUMENT.name} says {known.seconds:.0f}: --record"
    for name in before:
        yield f"{name}, which {DOCUMENT.name} names, did not run"


def _differs(seconds: float, documented: float) -> bool:
    most, least = max(seconds, documented), min(seconds, documented)
    return most > DIFFERING_RATIO * least and most - least > DIFFERING_SECONDS


if __name__ == "__main__":
    sys.exit(main())
