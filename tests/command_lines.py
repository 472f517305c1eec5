"""The command lines of the documents, and the real parsers of their programs, which parse without running anything."""

import argparse
import inspect
import io
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import pytest

from adapter.__main__ import PROGRAM as ADAPTER
from kubectl_loadline.program import PROGRAM as PLUGIN
from scaler.__main__ import PROGRAM as SCALER
from tests.documented_blocks import PROMPT, Block
from wire.process.command_line.parsing import FlagParser

Main = Callable[[Sequence[str]], object]

_PROGRAMS: dict[tuple[str, ...], Main] = {
    ("loadline-adapter",): ADAPTER.main,
    ("loadline-scaler",): SCALER.main,
    ("kubectl", "loadline"): PLUGIN.main,
}
_PYTHON = re.compile(r"(\.venv/bin/)?python3?")
# Of the shell: what separates commands, what redirects, and a variable before a command.
_SEPARATOR = re.compile(r"[;&|()]+|<\(")
_REDIRECTION = re.compile(r"\d*[<>]+")
_ASSIGNMENT = re.compile(r"[A-Z_]+=.*")


class Refused(Exception):
    """The program does not accept the command line; the message is its own."""


class _Parsed(Exception):
    """Ends the program after it has parsed its command line."""


def commands_in(block: Block) -> list[list[str]]:
    """The words of every command of a block."""
    text = block.text
    if block.language == "console":
        lines = (line for line in text.splitlines() if line.startswith(PROMPT))
        text = "\n".join(line.removeprefix(PROMPT) for line in lines)
    joined = text.replace("\\\n", " ").splitlines()
    return [command for line in joined for command in commands_of(line)]


def commands_of(line: str) -> list[list[str]]:
    """The words of every command of a line, without redirections and variables."""
    tokens = shlex.shlex(line, posix=True, punctuation_chars=True)
    tokens.whitespace_split = True
    found: list[list[str]] = [[]]
    words = iter(tokens)
    for word in words:
        if _SEPARATOR.fullmatch(word):
            found.append([])
        elif _REDIRECTION.fullmatch(word):
            next(words)
        elif found[-1] or not _ASSIGNMENT.fullmatch(word):
            found[-1].append(word)
    return [command for command in found if command]


def parse(words: Sequence[str]) -> bool:
    """Parse a command line of this repository's programs. False if it is of another program; raises Refused."""
    for name, main in _PROGRAMS.items():
        if tuple(words[: len(name)]) == name:
            _expect_parsed(main, words[len(name) :])
            return True
    match words:
        case [python, "-m", "pytest", *_] if _PYTHON.fullmatch(python):
            return False
        case [python, "-m", module, *arguments] if _PYTHON.fullmatch(python):
            _expect_parsed(_main_of(module), arguments)
            return True
    return False


def _main_of(name: str) -> Main:
    """What `python -m` runs, as a function of the arguments. Raises Refused."""
    spec = find_spec(name)
    if spec is None:
        raise Refused(f"no module {name}")
    module = import_module(f"{name}.__main__" if spec.submodule_search_locations else name)
    if "argparse" not in vars(module) and name not in {"adapter", "scaler"}:
        return _read_no_flags
    main: Callable[..., object] = module.main
    if inspect.signature(main).parameters:
        return main
    return lambda arguments: _with_command_line([name, *arguments], main)


def _with_command_line(command_line: list[str], main: Callable[[], object]) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", command_line)
        return main()


def _read_no_flags(arguments: Sequence[str]) -> object:
    """Of a program that reads no flags."""
    if flags := [each for each in arguments if each.startswith("-")]:
        raise Refused(f"the program has no flags: {' '.join(flags)}")
    raise _Parsed


def _expect_parsed(main: Main, arguments: Sequence[str]) -> None:
    """Raises Refused, with what the program prints."""
    printed = io.StringIO()
    with redirect_stderr(printed), redirect_stdout(io.StringIO()), _only_parsing():
        try:
            code = main(arguments)
        except _Parsed:
            return
        except SystemExit as ended:
            code = ended.code
    if code:
        raise Refused(printed.getvalue())


@contextmanager
def _only_parsing() -> Iterator[None]:
    """Programs end when argparse has accepted their command line. Documents write flags in full."""
    original = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, *given: object) -> None:
        self.allow_abbrev = False
        original(self, *given)  # type: ignore[call-overload]
        raise _Parsed

    known = FlagParser.parse_known_args

    def parse_known_args(self: FlagParser, *given: Any) -> NoReturn:
        """Documents have no words that a server ignores."""
        self.allow_abbrev = False
        _, words = known(self, *given)
        if words:
            self.error(f"unrecognized arguments: {' '.join(words)}")
        raise _Parsed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
        patch.setattr(FlagParser, "parse_known_args", parse_known_args)
        yield
