"""`python -m testbed.soak`: the long tail of the tests, until a given time. Exit code 1 after a failure."""

import argparse
import datetime
import functools
import sys
from pathlib import Path
from typing import Final

from testbed.soak.progress import Progress
from testbed.soak.schedule import seconds_until
from testbed.soak.soak import Soak
from testbed.soak.sources import SOURCES

DIRECTORY: Final = Path(__file__).parents[2] / "out" / "soak"


def main() -> int:
    """Print each turn and the summary."""
    parser = argparse.ArgumentParser(prog="python -m testbed.soak")
    end = parser.add_mutually_exclusive_group()
    end.add_argument("--until", metavar="HH:MM", help="of the clock of this machine")
    end.add_argument("--seconds", type=float, default=7200.0, help="(%(default)g)")
    parser.add_argument(
        "--only", metavar="TEXT", action="append", default=[],
        help=f"only sources whose name begins so: {', '.join(each.name for each in SOURCES)}",
    )  # fmt: skip
    given = parser.parse_args()
    seconds: float = given.seconds
    if given.until:
        try:
            seconds = seconds_until(given.until, datetime.datetime.now().astimezone())
        except ValueError:
            parser.error(f"{given.until!r} is not a time of day: write HH:MM, for example 07:30")
    chosen = [each for each in SOURCES if each.name.startswith(tuple(given.only or [""]))]
    if not chosen:
        parser.error(f"no source has a name that begins with {' or '.join(given.only)}")
    print(f"{len(chosen)} sources for {seconds:.0f} s; logs: {DIRECTORY}", flush=True)
    soak = Soak(chosen, Progress(), DIRECTORY, report=functools.partial(print, flush=True))
    soak.run(seconds)
    print("\n".join(soak.summary()))
    return 1 if soak.failures or soak.new_regressions else 0


if __name__ == "__main__":
    sys.exit(main())
