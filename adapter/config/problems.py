"""What is wrong with a configuration: where, what, and how to fix it."""

import enum
from collections.abc import Sequence

import msgspec


class ProblemCode(enum.StrEnum):
    """What kind of problem it is, for programs and for the index in docs/check.md."""

    AMBIGUOUS_NAME = "AmbiguousName"
    DROPPED_LABEL = "DroppedLabel"
    DUPLICATE_FIELD = "DuplicateField"
    DUPLICATE_NAME = "DuplicateName"
    EMPTY = "Empty"
    INVALID_CREDENTIALS = "InvalidCredentials"
    INVALID_FILTER = "InvalidFilter"
    INVALID_NAME = "InvalidName"
    INVALID_PATTERN = "InvalidPattern"
    INVALID_QUERY = "InvalidQuery"
    INVALID_SELECTOR = "InvalidSelector"
    INVALID_TEMPLATE = "InvalidTemplate"
    INVALID_URL = "InvalidURL"
    INVALID_VALUE = "InvalidValue"
    INVALID_YAML = "InvalidYAML"
    MISSING_FIELD = "MissingField"
    NESTED_TOO_DEEPLY = "NestedTooDeeply"
    NO_CONTAINER_LABEL = "NoContainerLabel"
    NO_EFFECT = "NoEffect"
    NO_QUERY = "NoQuery"
    NO_RESOURCES = "NoResources"
    NO_RULES = "NoRules"
    SEVERAL_DOCUMENTS = "SeveralDocuments"
    UNKNOWN_BACKEND = "UnknownBackend"
    UNKNOWN_FIELD = "UnknownField"
    UNKNOWN_FUNCTION = "UnknownFunction"
    UNKNOWN_TEMPLATE_FIELD = "UnknownTemplateField"
    UNREADABLE = "Unreadable"
    UNUSABLE_FILE = "UnusableFile"
    WRONG_TYPE = "WrongType"


class ConfigProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One problem. `path` is the key path (`rules[2].name.matches`), `line` counts from 1; 0 is the whole file."""

    code: ProblemCode
    path: str
    line: int
    problem: str
    fix: str

    def __str__(self) -> str:
        where = f"line {self.line}: {self.path}" if self.line else self.path
        return f"{where}: {self.problem}. {self.fix} [{self.code}]"


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
