"""What is recorded of the mutants: `recorded.jsonl` has the last result of each, `equivalent.json` why some cannot be found."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

RECORDED: Final = Path(__file__).with_name("recorded.jsonl")
EQUIVALENT: Final = Path(__file__).with_name("equivalent.json")


class Result(StrEnum):
    """What the tests said of a mutant."""

    KILLED = "killed"
    TIMEOUT = "timeout"
    SURVIVED = "survived"
    NO_TESTS = "no tests"
    NOT_RUN = "not run"
    EQUIVALENT = "equivalent"


class Recorded(msgspec.Struct, frozen=True, order=True):
    """The last result of one mutant."""

    package: str
    function: str
    change: str
    result: Result

    @property
    def key(self) -> tuple[str, str]:
        """As `Mutant.key`."""
        return self.function, self.change


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that behaves as the original does, so that no test can find it."""

    function: str
    change: str
    reason: str

    @property
    def key(self) -> tuple[str, str]:
        """As `Mutant.key`."""
        return self.function, self.change


class Score(msgspec.Struct, frozen=True):
    """How many mutants of a package are found."""

    package: str
    found: int
    survived: int
    equivalent: int

    @property
    def percent(self) -> float:
        """Of those that can be found."""
        return 100 * self.found / max(1, self.found + self.survived)


def recorded(path: Path = RECORDED) -> list[Recorded]:
    """All results."""
    if not path.exists():
        return []
    return msgspec.json.Decoder(Recorded).decode_lines(path.read_bytes())


def record(results: Iterable[Recorded], path: Path = RECORDED) -> None:
    """Replace all results."""
    path.write_bytes(msgspec.json.Encoder().encode_lines(sorted(results)))


def equivalent(path: Path = EQUIVALENT) -> list[Equivalent]:
    """The mutants that no test can find."""
    return msgspec.json.decode(path.read_bytes(), type=list[Equivalent])


def scores(results: Iterable[Recorded]) -> list[Score]:
    """Of each package, in their order."""
    by_package: dict[str, list[Result]] = {}
    for each in results:
        by_package.setdefault(each.package, []).append(each.result)
    return [
        Score(
            package,
            found=sum(each in (Result.KILLED, Result.TIMEOUT) for each in found),
            survived=sum(each in (Result.SURVIVED, Result.NO_TESTS) for each in found),
            equivalent=found.count(Result.EQUIVALENT),
        )
        for package, found in by_package.items()
    ]
