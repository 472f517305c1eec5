"""`kubectl loadline`: the commands, and nothing else. kubectl finds the executable `kubectl-loadline` on the PATH."""

import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

from kubectl_loadline.terminal import fish
from wire.process.command_line.ending import quiet_end
from wire.process.command_line.parsing import FlagParser
from wire.process.command_line.program import COMPLETION, OK, Command, Program
from wire.process.command_line.program import SHELLS as GENERATED_SHELLS

SHELLS: Final = (*GENERATED_SHELLS, fish.SHELL)

COMMANDS: Final = (
    Command(
        name="why",
        summary="Explain the last decision for an autoscaler",
        module="kubectl_loadline.commands.why",
    ),
    Command(
        name="explain",
        summary="Explain how the values of an autoscaler's metrics are computed",
        module="kubectl_loadline.commands.explain",
    ),
    Command(
        name="status",
        summary="List the autoscalers: current and desired replicas, what limits them, and why",
        module="kubectl_loadline.commands.status.command",
    ),
    Command(
        name="simulate",
        summary="Show what would be decided with other metrics or at another time",
        module="kubectl_loadline.commands.simulate",
    ),
    Command(
        name="ui",
        summary="Serve a page on this machine with every autoscaler, its recent history and a what-if",
        module="kubectl_loadline.commands.ui",
    ),
    Command(
        name="check",
        summary="Validate the configuration of the running adapter, or a file",
        module="kubectl_loadline.commands.check",
    ),
    Command(
        name="backtest",
        summary="Compare settings on the recorded load of an autoscaler",
        module="kubectl_loadline.commands.backtest.command",
    ),
    Command(
        name="suggest",
        summary="Propose an autoscaler for a workload from its recorded series",
        module="kubectl_loadline.commands.suggest.command",
    ),
    Command(
        name="migrate",
        summary="Convert HPAs and KEDA's ScaledObjects to LoadAutoscalers",
        module="kubectl_loadline.commands.migrate.command",
    ),
)
# A further command is a module with `parser() -> FlagParser` and `main(arguments) -> int`, and one entry above.


class Plugin(Program, frozen=True, kw_only=True):
    """The program of kubectl, which completes in fish, too."""

    def main(self, arguments: Sequence[str]) -> int:
        """Run what the command line asks for; returns the exit code."""
        if arguments and arguments[0] == COMPLETION:
            print(self.completion(completion_parser().parse_args(arguments[1:]).shell))
            return OK
        return super().main(arguments)

    def help(self) -> str:
        """The help of the default command, with a list of the commands."""
        return super().help().replace(", ".join(GENERATED_SHELLS), ", ".join(SHELLS))

    def completion(self, shell: str) -> str:
        """A script that completes commands, flags and files in `shell`."""
        return fish.SCRIPT if shell == fish.SHELL else super().completion(shell)


def completion_parser() -> FlagParser:
    """The flags of `completion`."""
    shells = ", ".join(SHELLS)
    parser = FlagParser(
        prog="kubectl loadline completion",
        usage="%(prog)s SHELL",
        description=f"Print a completion script for kubectl-loadline ({shells}). `kubectl loadline` is completed by kubectl's own "
        "completion, without this script.",
        examples=[
            (
                "Enable completion in the current bash session",
                "source <(kubectl loadline completion bash)",
            ),
            (
                "Enable completion in every new fish session",
                "kubectl loadline completion fish > ~/.config/fish/completions/kubectl-loadline.fish",
            ),
        ],
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=shells)
    return parser


PROGRAM: Final = Plugin(
    name="kubectl loadline",
    executable="kubectl-loadline",
    default=Command(
        name="overview",
        summary="List the commands",
        module="kubectl_loadline.overview",
    ),
    commands=COMMANDS,
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (`terminal.exit_codes`)."""
    given = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, TextIOWrapper):
        # One letter that the locale does not have must not end a table.
        sys.stdout.reconfigure(errors="backslashreplace")
    return quiet_end(PROGRAM.name, lambda: PROGRAM.main(given))


if __name__ == "__main__":
    sys.exit(main())
