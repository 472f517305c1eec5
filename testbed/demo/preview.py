"""`python -m testbed preview`: what can be shown before a control plane is built.

The plugin, which is in the same wheel, replays a generated day: no cluster and no Prometheus is needed.
"""

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import yaml

from kubectl_loadline.program import main as kubectl_loadline
from testbed.assets import GoProgram, location, program
from testbed.demo import generated_day
from testbed.demo.command import add_seconds

DIRECTORY: Final = Path("out") / "preview"
HIGHER_TARGET: Final = 60


def add_command(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Register the command."""
    preview = commands.add_parser("preview", help="replay a generated day, without a cluster")
    preview.add_argument(
        "programs", nargs="*", metavar="program", help="only if one of these must be built first"
    )
    # Of the demo that follows: what is wrong with it is said before minutes of building.
    add_seconds(preview)
    preview.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Returns the exit code of the backtest; 0 if nothing must be built first."""
    missing = missing_programs(arguments.programs)
    if arguments.programs and not missing:
        return 0
    if missing:
        print(coming(missing), flush=True)
    return replay(DIRECTORY)


def missing_programs(names: Sequence[str]) -> list[GoProgram]:
    """Those that must be compiled."""
    found = [program(name) for name in names]
    return [
        each
        for each in found
        if isinstance(each, GoProgram) and not os.access(location(each.name), os.X_OK)
    ]


def coming(missing: Sequence[GoProgram]) -> str:
    """What the demo is about to do, and how long that takes."""
    minutes = max(1, round(sum(each.expected_seconds for each in missing) / 60))
    return (
        f"The first run compiles {len(missing)} programs: {', '.join(each.name for each in missing)}. That takes about "
        f"{minutes} minutes on two idle cores, and longer on the first download of their modules.\n"
        "Then a real control plane scales two workloads live: one with an HPA, one with a LoadAutoscaler.\n"
        "\nFirst, something that needs no cluster. An autoscaler has kept 50 requests per second per replica for a day: would "
        "60 have been enough, and what would it have saved?\n"
    )


def replay(directory: Path) -> int:
    """Write the files, and compare two targets on them."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "day.csv").write_text("\n".join(generated_day.rows()) + "\n")
    files = {"web": generated_day.TARGET, f"web-{HIGHER_TARGET}": HIGHER_TARGET}
    for name, target in files.items():
        manifest = yaml.safe_dump(generated_day.autoscaler(name, target), sort_keys=False)
        (directory / f"{name}.yaml").write_text(manifest)
    command = [
        "backtest",
        f"--autoscaler={directory}/web.yaml",
        f"--candidate={directory}/web-{HIGHER_TARGET}.yaml",
        f"--history={directory}/day.csv",
        "--start-up=60s",
        f"--plots={directory}",
    ]
    print(f"$ kubectl loadline {shlex.join(command)}\n", flush=True)
    code = kubectl_loadline(command)
    pictures = ", ".join(str(each) for each in sorted(directory.glob("*.png")))
    print(f"\nPlots: {pictures}\n", flush=True)
    return code
