"""`loadline-adapter`: the commands, and nothing else."""

import sys
from collections.abc import Sequence
from typing import Final

from wire.process.command_line.ending import quiet_end
from wire.process.command_line.program import Command, Program

PROGRAM: Final = Program(
    name="loadline-adapter",
    default=Command(
        name="serve", summary="Serve the metrics APIs", module="adapter.commands.run_server"
    ),
    commands=(
        Command(
            name="check",
            summary="Validate a configuration file",
            module="adapter.commands.check",
        ),
        Command(
            name="explain",
            summary="Explain how a value is computed, or where it failed and how to fix it",
            module="adapter.commands.explain",
        ),
        Command(
            name="migrate",
            summary="Convert the rules of prometheus-adapter to named metrics",
            module="adapter.commands.migrate",
        ),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, 2 when the command line or a file is wrong."""
    given = _without_program_name(sys.argv[1:] if arguments is None else arguments)
    return quiet_end(PROGRAM.name, lambda: PROGRAM.main(given))


def _without_program_name(arguments: Sequence[str]) -> Sequence[str]:
    """prometheus-adapter's chart passes the path of the program as the first argument."""
    return arguments[1:] if arguments and arguments[0] == "/adapter" else arguments


if __name__ == "__main__":
    sys.exit(main())
