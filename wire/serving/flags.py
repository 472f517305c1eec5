"""Command lines as Kubernetes' own programs read them (spf13/pflag), on argparse.

`--flag`, `--flag=true` and `--flag=false` for booleans, `_` for `-`, lists both repeated and with
commas, durations in Go's syntax; no abbreviations.
"""

import argparse
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from wire.duration import parse_duration

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


def port(text: str) -> int:
    """0 to 65535; what 0 means is the flag's own matter."""
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")
    return int(text)


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


class FlagParser(argparse.ArgumentParser):
    """An argparse parser with pflag's manners. A wrong flag ends the program with exit code 2."""

    def __init__(self, **more: Any) -> None:
        more.setdefault("allow_abbrev", False)
        more.setdefault("usage", "%(prog)s [flags]")
        super().__init__(**more)

    def add_boolean(self, *names: str, default: bool = False, help: str) -> None:  # noqa: A002 - argparse's word
        """A flag that may stand without a value."""
        self.add_argument(*names, type=boolean, default=default, metavar="BOOL", help=help)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        import sys

        given = [self._spelled_out(arg) for arg in (sys.argv[1:] if args is None else args)]
        # Before argparse asks for a required flag, which may be just the one that was misspelled.
        for arg in given:
            name = arg.partition("=")[0]
            if re.fullmatch(r"--[\w-]+", name) and name not in self._option_string_actions:
                self.error(f"there is no flag {name}{self._meant(name)}")
        return super().parse_known_args(given, namespace)

    def error(self, message: str) -> NoReturn:
        """Without the usage, which is longer than a screen and hides the reason."""
        self.exit(2, f"{self.prog}: {message}\nSee {self.prog} --help for every flag.\n")

    def _meant(self, name: str) -> str:
        near = get_close_matches(name, self._option_string_actions, n=1)
        return f": did you mean {near[0]}?" if near else ""

    def _spelled_out(self, arg: str) -> str:
        name, equals, value = arg.partition("=")
        if re.fullmatch(r"--[\w-]+", name):
            name = name.replace("_", "-")
        action = self._option_string_actions.get(name)
        if not equals and action is not None and action.type is boolean:
            # pflag takes no separate word as a boolean's value, so `--leader-elect run` runs.
            return f"{name}=true"
        return name + equals + value
