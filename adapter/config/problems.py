"""What is wrong with a configuration: where, what, and how to fix it."""

from collections.abc import Sequence

import msgspec


class ConfigProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem. `path` is the key path (`rules[2].name.matches`), `line` counts from 1; 0 is the whole file."""

    path: str
    line: int
    problem: str
    fix: str

    def __str__(self) -> str:
        where = f"line {self.line}: {self.path}" if self.line else self.path
        return f"{where}: {self.problem}. {self.fix}"


class ConfigError(Exception):
    """A configuration cannot be used; `problems` are all that was found, in the order of the file.

    With `warnings` alone it could be used.
    """

    def __init__(
        self,
        file: str,
        problems: Sequence[ConfigProblem],
        *,
        warnings: Sequence[ConfigProblem] = (),
    ) -> None:
        self.file = file
        self.problems = tuple(problems)
        self.warnings = tuple(warnings)
        super().__init__("\n".join(f"{file}: {problem}" for problem in self.problems))
