"""Flags as Kubernetes' own programs read them (spf13/pflag), on argparse.

`--flag`, `--flag=true` and `--flag=false` for booleans, `_` for `-`, lists both repeated and with
commas, durations in Go's syntax; no abbreviations. Help shows groups, units and defaults:

    parser = FlagParser(prog="program", description="Serve.", examples=[("Serve here", "program --port=1")])
    cluster = parser.group("cluster")
    cluster.add_duration("--resync", default_seconds=30.0, help="time between two full lists")
"""

import argparse
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill, wrap
from typing import Any, Final, NoReturn

from wire.api.duration import format_duration, parse_duration
from wire.process.command_line.messages import wrapped_error

DURATION: Final = "DURATION"
FILE: Final = "FILE"
OUTPUTS: Final = ("text", "json")
HELP_COLUMNS: Final = 100

_FLAG: Final = re.compile(r"--[\w-]+|-[A-Za-z]")
_FLAGS_OF_FILES: Final = ("-f", "--config", "--file", "--filename")
"""Of other commands, for what may be an argument here."""
_TRUE = {"1", "t", "T", "true", "TRUE", "True"}
_FALSE = {"0", "f", "F", "false", "FALSE", "False"}


def boolean(text: str) -> bool:
    """Go's strconv.ParseBool."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


def duration_seconds(text: str) -> float:
    """`1m30s` -> 90.0."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def moment_unix_seconds(text: str) -> float:
    """An RFC 3339 time, in UTC unless it has an offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time such as 2026-11-27T08:00 (UTC) or 2026-11-27T08:00+01:00"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def port(text: str) -> int:
    """0 to 65535; each flag defines what 0 means."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 0 to 65535")
    return int(text)


def name_and_value(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def optional_path(text: str) -> Path | None:
    """An empty value means that the flag is not set, as in Go's programs."""
    return Path(text) if text else None


class CommaList(argparse.Action):
    """`--names=a,b --names=c` -> (a, b, c); the first use replaces the default."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argparse's signature
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,  # noqa: ARG002 - argparse's signature
    ) -> None:
        before = getattr(namespace, self.dest)
        given = tuple(part.strip() for part in str(values).split(",") if part.strip())
        setattr(namespace, self.dest, given if before == self.default else (*before, *given))


class FlagSet(argparse._ActionsContainer):  # noqa: SLF001 - the public classes share only this base
    """Where flags are declared: a `FlagParser` or one of its groups."""

    def add_boolean(self, *names: str, default: bool = False, help: str) -> None:  # noqa: A002 - argparse's word
        """A flag that is true without a value; `--flag=false` turns it off."""
        self.add_argument(*names, type=boolean, default=default, metavar="BOOL", help=help)

    def add_duration(
        self,
        *names: str,
        default_seconds: float | None,
        help: str,  # noqa: A002 - argparse's word
        parse: Callable[[str], float] = duration_seconds,
    ) -> None:
        """A flag in Go's duration syntax; `parse` may narrow what is valid."""
        self.add_argument(*names, type=parse, default=default_seconds, metavar=DURATION, help=help)

    def add_list(
        self,
        *names: str,
        default: tuple[str, ...] = (),
        metavar: str = "LIST",
        help: str,  # noqa: A002 - argparse's word
    ) -> None:
        """A flag that takes several values with commas, and may be repeated."""
        self.add_argument(*names, action=CommaList, default=default, metavar=metavar, help=help)

    def add_file(self, *names: str, help: str) -> None:  # noqa: A002 - argparse's word
        """The path of a file, or None when the flag is not set or empty."""
        self.add_argument(*names, type=optional_path, default=None, metavar=FILE, help=help)

    def add_output(self) -> None:
        """`-o`, `--output`: text or json."""
        self.add_argument(
            "-o",
            "--output",
            choices=OUTPUTS,
            default="text",
            metavar="FORMAT",
            help="output format, text or json",
        )

    def add_context(self) -> None:
        """`--context`, of the kubeconfig."""
        self.add_argument(
            "--context",
            metavar="NAME",
            help="context of the kubeconfig (default: its current context)",
        )


class FlagGroup(FlagSet, argparse._ArgumentGroup):  # noqa: SLF001 - what add_argument_group returns
    """Flags under one heading of the help. Made by `FlagParser.group`."""


class FlagParser(FlagSet, argparse.ArgumentParser):
    """An argparse parser with pflag's rules. A wrong flag ends the program with exit code 2."""

    def __init__(
        self, *, examples: Sequence[tuple[str, str]] = (), notes: str = "", **more: Any
    ) -> None:
        """`examples`: what each does, and its command line; `notes`: paragraphs at the end of the help."""
        more.setdefault("allow_abbrev", False)
        more.setdefault("usage", "%(prog)s [flags]")
        more.setdefault("formatter_class", _HelpFormatter)
        more.setdefault("epilog", _epilog(examples, notes))
        more["description"] = fill(more.get("description") or "", help_columns())
        super().__init__(**more)

    def group(self, title: str) -> FlagGroup:
        """Flags declared on it appear under `title`."""
        group = FlagGroup(self, title)
        self._action_groups.append(group)
        return group

    def declares(self, name: str) -> bool:
        """Whether `--name` is a flag already."""
        return f"--{name}" in self._option_string_actions

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        given = [self._spelled_out(arg) for arg in (sys.argv[1:] if args is None else args)]
        # Before argparse reports a required flag as missing, which may be the one that was misspelled.
        for arg in given:
            name = arg.partition("=")[0]
            if re.fullmatch(_FLAG, name) and name not in self._option_string_actions:
                self.error(f"unknown flag {name}{self._instead_of(name)}")
        return super().parse_known_args(given, namespace)

    def _instead_of(self, name: str) -> str:
        """What may have been meant by a flag that does not exist."""
        shown = self._shown()
        if any(each.metavar == FILE for each in self._get_positional_actions()):
            near = get_close_matches(name, [*_FLAGS_OF_FILES, *shown], n=1)
            if near and near[0] in _FLAGS_OF_FILES:
                return f": the file is given without a flag: {self.prog} {FILE}"
        return did_you_mean(name, shown) or did_you_mean(name, tuple(self._option_string_actions))

    def _shown(self) -> list[str]:
        """The flags that the help lists, which are suggested before those that are only accepted."""
        actions = self._option_string_actions.items()
        return [name for name, action in actions if action.help is not argparse.SUPPRESS]

    def error(self, message: str) -> NoReturn:
        """Without the usage, which is longer than a screen and hides the reason."""
        shown = f"{self.prog}: {message}\nSee {self.prog} --help for every flag."
        self.exit(2, f"{wrapped_error(shown)}\n")

    def _spelled_out(self, arg: str) -> str:
        name, equals, value = arg.partition("=")
        if re.fullmatch(r"--[\w-]+", name):
            name = name.replace("_", "-")
        action = self._option_string_actions.get(name)
        if not equals and action is not None and action.type is boolean:
            # pflag takes no separate word as a boolean's value, so `--leader-elect run` runs.
            return f"{name}=true"
        return name + equals + value


def help_columns() -> int:
    """The width of the help: that of the terminal, at most 100; 100 in a pipe or a file."""
    if not sys.stdout.isatty():
        return HELP_COLUMNS
    return min(HELP_COLUMNS, shutil.get_terminal_size().columns)


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """`: did you mean X?` for the most similar of `known`, or nothing."""
    near = get_close_matches(name, known, n=1)
    return f": did you mean {near[0]}?" if near else ""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """pflag's layout: the value is named once, and every default is shown with its unit."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=32, width=help_columns())

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ", ".join(action.option_strings)
        if not names:
            return super()._format_action_invocation(action)
        if action.type is boolean:
            return f"{names}[=true|false]"
        if action.nargs == 0:
            return names
        return f"{names} {self._format_args(action, action.dest.upper())}"

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Names such as kube-system stay whole.
        return wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        shown = _default(action)
        if not shown or "default" in text:
            return text
        return f"{text} (default {shown.replace('%', '%%')})"


def _default(action: argparse.Action) -> str:
    """The default as it would be written on the command line; empty: there is none to show."""
    value = action.default
    if not action.option_strings or value in (None, argparse.SUPPRESS, "", (), [], {}):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if action.metavar == DURATION:
        return format_duration(value)
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _epilog(examples: Sequence[tuple[str, str]], notes: str) -> str:
    shown = [f"  # {meaning}\n  {line}" for meaning, line in examples]
    parts = ["examples:\n" + "\n\n".join(shown)] if shown else []
    paragraphs = (fill(paragraph, help_columns()) for paragraph in notes.split("\n\n"))
    return "\n\n".join([*parts, *filter(None, paragraphs)]).replace("%", "%%")
