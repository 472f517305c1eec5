"""`loadline-scaler`, which is `python -m scaler`: the subcommand, its flags, its exit code."""

import sys
from collections.abc import Callable, Sequence

from scaler.commands.run import main as run
from scaler.commands.why import main as why

COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"run": run, "why": why}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the subcommand that is named first, else `run`; 2 says that the command line or a file is wrong."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and not given[0].startswith("-"):
        name, *given = given
        if name not in COMMANDS:
            print(
                f"loadline-scaler: no command {name!r}: there is {', '.join(COMMANDS)}",
                file=sys.stderr,
            )
            return 2
        return COMMANDS[name](given)
    return run(given)


if __name__ == "__main__":
    sys.exit(main())
