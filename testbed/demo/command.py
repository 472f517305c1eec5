"""`python -m testbed demo`."""

import argparse
import math
import os

from testbed.demo.load_plan import MIN_SECONDS

DEFAULT_SECONDS = "240"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register the command."""
    demo = commands.add_parser("demo", help="scale two workloads on real metrics, live")
    add_seconds(demo)
    demo.set_defaults(run=run)


def add_seconds(parser: argparse.ArgumentParser) -> None:
    """The flag `--seconds`, at least `MIN_SECONDS`."""
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=os.environ.get("DEMO_SECONDS") or DEFAULT_SECONDS,
        help=f"how long the load lasts (default: $DEMO_SECONDS or {DEFAULT_SECONDS})",
    )


def _seconds(text: str) -> float:
    fix = f"Set DEMO_SECONDS to at least {MIN_SECONDS:g}"
    try:
        found = float(text)
    except ValueError:
        found = math.inf
    if found == math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds. {fix}")
    if not found >= MIN_SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text}: scaling up and down takes {MIN_SECONDS:g} s. {fix}"
        )
    return found


def run(arguments: argparse.Namespace) -> int:
    """Returns the exit code."""
    # Imported here: the other commands need neither matplotlib nor rich.
    from testbed.demo.demonstration import run_demo

    return run_demo(arguments.seconds)
