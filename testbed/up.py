"""`python -m testbed up`: a control plane and a Prometheus for a developer, until Ctrl-C."""

import argparse


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register the command."""
    up = commands.add_parser("up", help="start a control plane and a Prometheus, until Ctrl-C")
    up.set_defaults(run=run)


def run(_: argparse.Namespace) -> int:
    return 0
