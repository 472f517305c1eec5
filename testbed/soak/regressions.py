"""What has failed once, in `regressions.jsonl`: `make test` runs the newest of each finding again, `make soak` all."""

import datetime
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

RECORDED: Final = Path(__file__).with_name("regressions.jsonl")


class Regression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One seed that failed."""

    source: str  # as in `sources.SOURCES`
    case: str  # how the source repeats it: a seed, or a seed and what of it
    finding: str  # the violated invariant, or what differs
    date: datetime.date
    faults: str | None = (
        None  # of the simulation: the numbers of those that it takes, separated by commas
    )


def recorded(source: str = "", path: Path = RECORDED) -> list[Regression]:
    """Those of the sources whose names begin so. Raises msgspec.DecodeError."""
    if not path.exists():
        return []
    found = msgspec.json.Decoder(Regression).decode_lines(path.read_bytes())
    return [each for each in found if each.source.startswith(source)]


def newest(regressions: Iterable[Regression]) -> list[Regression]:
    """The last one of each finding of a source: the older it is, the less of what failed still happens in its run."""
    return list({(each.source, each.finding): each for each in regressions}.values())


def record(regression: Regression, path: Path = RECORDED) -> None:
    """Add it, unless the same case is there."""
    known = {(each.source, each.case) for each in recorded(path=path)}
    if (regression.source, regression.case) not in known:
        with path.open("ab") as file:
            file.write(msgspec.json.encode(regression) + b"\n")


def today() -> datetime.date:
    """In UTC."""
    return datetime.datetime.now(datetime.UTC).date()
