"""`kubectl loadline` without a command: its help."""

from collections.abc import Sequence

from wire.process.command_line.parsing import FlagParser


def main(arguments: Sequence[str]) -> int:
    """Print the help; 2 when a flag is given, because every flag belongs to a command."""
    from kubectl_loadline.program import PROGRAM

    parser().parse_args(arguments)
    print(PROGRAM.help(), end="")
    return 0


def parser() -> FlagParser:
    """No flags: each command has its own."""
    return FlagParser(
        prog="kubectl loadline",
        description="Explain, simulate and compare what Loadline's autoscalers decide, with the permissions of your "
        "kubeconfig. It finds the scaler, the adapter and Prometheus automatically.",
        examples=[
            ("Why does it have this many replicas?", "kubectl loadline why web -n shop"),
            ("Why does a metric have no value?", "kubectl loadline explain hpa/web -n shop"),
        ],
        notes="See kubectl loadline COMMAND --help for the flags of a command.",
    )
