"""The commands of a program: which one a command line runs, `--version`, `completion`, unknown commands.

A command is a module with `parser() -> FlagParser` and `main(arguments) -> int`. It is imported only
when it runs, so that no command pays for another one's libraries.
"""

from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from textwrap import fill
from typing import Final, Protocol, cast

import msgspec

from wire.process.command_line.messages import print_error
from wire.process.command_line.parsing import FILE, FlagParser, did_you_mean, help_columns

OK: Final = 0
MISUSED: Final = 2
DISTRIBUTION: Final = "loadline-autoscaler"
COMPLETION: Final = "completion"
SHELLS: Final = ("bash", "zsh", "tcsh")


class CommandModule(Protocol):
    """What a command's module offers."""

    def parser(self) -> FlagParser:
        """Its flags."""
        ...

    def main(self, arguments: Sequence[str], /) -> int:
        """Run it; returns the exit code."""
        ...


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """One command: its name, what it does in a line, and the module that does it."""

    name: str
    summary: str
    module: str

    def load(self) -> CommandModule:
        """Import the module."""
        return cast("CommandModule", import_module(self.module))


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A program with commands; `default` runs when the command line names none, listed or not.

    `executable`: the file that the shell completes, where it is not the name.
    """

    name: str
    executable: str = ""
    default: Command
    commands: tuple[Command, ...]

    def main(self, arguments: Sequence[str]) -> int:
        """Run what the command line asks for; returns the exit code."""
        first, rest = (arguments[0], arguments[1:]) if arguments else ("", ())
        if first in ("--version", "version"):
            print(f"{self.name} {version(DISTRIBUTION)}")
            return OK
        if first == "help" and rest:
            return self.main((rest[0], "--help"))
        if first == "help" or (
            first.startswith("-") and not {"-h", "--help"}.isdisjoint(arguments)
        ):
            print(self.help(), end="")
            return OK
        if first == COMPLETION:
            return self._completion(rest)
        if first and not first.startswith("-"):
            command = next((each for each in self.commands if each.name == first), None)
            return command.load().main(rest) if command else self._unknown(first)
        return self.default.load().main(arguments)

    def help(self) -> str:
        """The help of the default command, with a list of the commands."""
        parser = self.default.load().parser()
        parser.usage = f"{self.name} [flags]\n       {self.name} COMMAND [flags]"
        parser.description = f"{parser.description}\n\ncommands:\n{self._listed()}"
        return parser.format_help()

    def completion(self, shell: str) -> str:
        """A script that completes commands, flags and files in `shell`."""
        # Only this command needs the library.
        import shtab

        whole = FlagParser(
            prog=self.executable or self.name,
            parents=[self.default.load().parser()],
            add_help=False,
            usage=self.name,
        )
        commands = whole.add_subparsers()
        parsers = [whole]
        parsers += (
            commands.add_parser(
                each.name, help=each.summary, parents=[each.load().parser()], add_help=False
            )
            for each in self.commands
        )
        completion = commands.add_parser(COMPLETION, help=_COMPLETION_SUMMARY)
        completion.add_argument("shell", choices=SHELLS)
        for parser in parsers:
            for action in parser._actions:  # noqa: SLF001 - argparse has no other list of them
                if action.metavar == FILE:
                    action.complete = shtab.FILE  # type: ignore[attr-defined]
        return shtab.complete(whole, shell)

    def _listed(self) -> str:
        listed = [(each.name, each.summary) for each in self.commands]
        listed.append((COMPLETION, _COMPLETION_SUMMARY))
        listed.append(("version", "Print the version; --version does the same"))
        return "\n".join(
            fill(
                summary,
                help_columns(),
                initial_indent=f"  {name:<12}",
                subsequent_indent=" " * 14,
                break_on_hyphens=False,
            )
            for name, summary in listed
        )

    def _completion(self, arguments: Sequence[str]) -> int:
        parser = FlagParser(
            prog=f"{self.name} {COMPLETION}",
            usage="%(prog)s SHELL",
            description=f"Print a completion script for {', '.join(SHELLS)}.",
            examples=[
                (
                    "Enable completion in the current bash session",
                    f"source <({self.name} {COMPLETION} bash)",
                ),
                (
                    "Enable completion in every new zsh session",
                    f'{self.name} {COMPLETION} zsh > "${{fpath[1]}}/_{self.executable or self.name}"',
                ),
            ],
        )
        parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
        print(self.completion(parser.parse_args(arguments).shell))
        return OK

    def _unknown(self, name: str) -> int:
        names = [each.name for each in self.commands] + [COMPLETION, "version"]
        print_error(
            f"{self.name}: unknown command {name!r}{did_you_mean(name, names)}\n"
            f"Commands: {', '.join(names)}. See {self.name} --help."
        )
        return MISUSED


_COMPLETION_SUMMARY = f"Print a shell completion script ({', '.join(SHELLS)})"
