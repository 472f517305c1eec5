"""`python -m testbed <command>`: see `python -m testbed --help`."""

import argparse
import sys
from collections.abc import Callable, Sequence

from testbed import up
from testbed.assets import PROGRAMS, AssetMissing, chosen_program
from testbed.build import BuildFailed, build
from testbed.demo import command as demo
from testbed.demo import preview
from testbed.processes import ProcessFailed
from testbed.progress import Progress
from testbed.toolchain import ToolchainFailed

INTERRUPTED_EXIT_CODE = 130  # 128 + SIGINT, the shell convention


def build_command(arguments: argparse.Namespace) -> int:
    """Build the missing programs."""
    named = [chosen_program(name) for name in arguments.programs]
    build(named or [p.name for p in PROGRAMS], Progress())
    return 0


def parser() -> argparse.ArgumentParser:
    """Each command is a subparser whose default `run` is the function to call."""
    root = argparse.ArgumentParser(
        prog="python -m testbed",
        description="A real Kubernetes control plane and Prometheus on loopback.",
    )
    commands = root.add_subparsers(title="commands", metavar="<command>")
    build_parser = commands.add_parser(
        "build", help="build the missing programs into a cache outside the checkout"
    )
    build_parser.add_argument(
        "programs", nargs="*", metavar="program", help="only these (default: all)"
    )
    build_parser.set_defaults(run=build_command)
    up.add_command(commands)
    preview.add_command(commands)
    demo.add_command(commands)
    root.set_defaults(run=None)
    return root


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit code."""
    root = parser()
    parsed = root.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] | None = parsed.run
    if run is None:
        root.print_help()
        return 0
    try:
        return run(parsed)
    except (AssetMissing, BuildFailed, ProcessFailed, ToolchainFailed) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted; programs that were already built are kept.", file=sys.stderr)
        return INTERRUPTED_EXIT_CODE


if __name__ == "__main__":
    sys.exit(main())
