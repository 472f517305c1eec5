"""`kubectl loadline`: the commands, and nothing else. kubectl finds the executable `kubectl-loadline` on the PATH."""

import sys
from collections.abc import Sequence
from typing import Final

from wire.process.command_line.program import Command, Program

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
        summary="List the autoscalers: what they want, what limits them, and why",
        module="kubectl_loadline.commands.status",
    ),
    Command(
        name="simulate",
        summary="Show what would be decided with other metrics or at another time",
        module="kubectl_loadline.commands.simulate",
    ),
    Command(
        name="ui",
        summary="Serve a page on this machine with every autoscaler, its last hours and a what-if",
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

PROGRAM: Final = Program(
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
    """Run the command line; returns the exit code, 2 when the command line or a file is wrong."""
    return PROGRAM.main(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
