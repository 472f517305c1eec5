"""The instructions of a Dockerfile, by stage."""

import re
import shlex
from collections.abc import Iterator, Mapping
from string import Template

import msgspec


class Instruction(msgspec.Struct, frozen=True):
    """One instruction: `RUN`, `COPY`, and its arguments on one line."""

    word: str
    arguments: str


class Stage(msgspec.Struct, frozen=True):
    """What follows a FROM. The last stage has no name."""

    name: str
    base: str
    instructions: tuple[Instruction, ...]


class Copy(msgspec.Struct, frozen=True):
    """The arguments of COPY; `stage` is empty for files of the build context."""

    stage: str
    sources: tuple[str, ...]
    destination: str

    @property
    def into_directory(self) -> bool:
        """Whether files are copied into the destination, not to it."""
        return self.destination.endswith("/")


def instructions(text: str) -> Iterator[Instruction]:
    """All of them, without comments."""
    without_comments = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    for line in re.sub(r"\\\n", " ", without_comments).splitlines():
        if line.strip():
            word, arguments = line.split(None, 1)
            yield Instruction(word, arguments.strip())


def stages(text: str) -> tuple[Stage, ...]:
    """The stages in their order. What is before the first FROM is left out: arguments for its name."""
    found: list[Stage] = []
    for instruction in instructions(text):
        if instruction.word == "FROM":
            base, _, name = instruction.arguments.partition(" AS ")
            found.append(Stage(name, base, ()))
        elif found:
            last = found.pop()
            found.append(Stage(last.name, last.base, (*last.instructions, instruction)))
    return tuple(found)


def copied(instruction: Instruction) -> Copy:
    """Of a COPY."""
    words = instruction.arguments.split()
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    *sources, destination = words
    return Copy(stage, tuple(sources), destination)


def variables(instruction: Instruction, environment: Mapping[str, str]) -> dict[str, str]:
    """What an ENV sets, with the variables of `environment` that its values name."""
    pairs = (word.partition("=") for word in shlex.split(instruction.arguments))
    return {name: Template(value).substitute(environment) for name, _, value in pairs}
