"""`loadline-scaler`: the commands, and nothing else."""

import sys
from collections.abc import Sequence
from typing import Final

from wire.process.command_line.ending import quiet_end
from wire.process.command_line.program import Command, Program

RUN: Final = Command(
    name="run",
    summary="Scale workloads; the default command",
    module="scaler.runtime.run",
)
PROGRAM: Final = Program(
    name="loadline-scaler",
    default=RUN,
    commands=(
        RUN,
        Command(
            name="why",
            summary="Explain the last decision for an autoscaler",
            module="kubectl_loadline.decisions.last",
        ),
        Command(
            name="simulate",
            summary="Show what would be decided with other metrics or at another time",
            module="kubectl_loadline.decisions.simulated",
        ),
        Command(
            name="migrate",
            summary="Convert HPAs and KEDA's ScaledObjects to LoadAutoscalers",
            module="kubectl_loadline.commands.migrate.of_scaler",
        ),
    ),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code, 2 when the command line or a file is wrong."""
    given = sys.argv[1:] if arguments is None else arguments
    return quiet_end(PROGRAM.name, lambda: PROGRAM.main(given))


if __name__ == "__main__":
    sys.exit(main())
