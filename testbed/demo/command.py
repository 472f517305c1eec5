"""`python -m testbed demo`."""

import argparse
import os

DEFAULT_SECONDS = "240"


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register the command."""
    demo = commands.add_parser("demo", help="scale two workloads on real metrics, live")
    demo.add_argument(
        "--seconds",
        type=float,
        default=os.environ.get("DEMO_SECONDS") or DEFAULT_SECONDS,
        help=f"how long the load lasts (default: $DEMO_SECONDS or {DEFAULT_SECONDS})",
    )
    demo.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Returns the exit code."""
    # Imported here: the other commands need neither matplotlib nor rich.
    from testbed.demo.demonstration import run_demo

    return run_demo(arguments.seconds)
