"""The flags of `kubectl loadline backtest`, and what they are read to."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from kubectl_loadline.backtest.comparison import ORACLE, PRESENT, RECORDED
from kubectl_loadline.backtest.metric_kinds import MetricKind
from kubectl_loadline.recorded_series.flags import amount_pair, seconds, start_up
from wire.process.command_line.parsing import FlagParser, name_and_value


def names_of(candidates: Sequence[Path]) -> dict[str, Path]:
    """The files by the names of their rows: without the suffix, or with as much of the path as makes the name unique."""
    files = list(dict.fromkeys(candidates))
    endings = {
        file: [
            file.stem,
            *("/".join(file.parts[-count:]) for count in range(1, len(file.parts) + 1)),
        ]
        for file in files
    }
    found: dict[str, Path] = {}
    for file in files:
        taken = {each for other in files if other != file for each in endings[other]}
        taken |= {RECORDED, PRESENT, ORACLE}
        found[next((each for each in endings[file] if each not in taken), str(file))] = file
    return found


def kind_pair(text: str) -> tuple[str, str]:
    """`NAME=load`, `share` or `queue`."""
    name, kind = name_and_value(text)
    if kind not in list(MetricKind):
        raise argparse.ArgumentTypeError(f"{kind!r} is not one of {', '.join(MetricKind)}")
    return name, kind


def seconds_pair(text: str) -> tuple[str, float]:
    """`NAME=DURATION`."""
    name, value = name_and_value(text)
    return name, seconds(value)


def price(text: str) -> float:
    """An amount of money, 0 or more."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a price of 0 or more")
    return found


def add_model_flags(parser: FlagParser) -> None:
    """What the recorded series mean."""
    group = parser.group("model")
    group.add_argument(
        "--start-up",
        type=start_up,
        metavar="P50[,P95]",
        help="how long a pod takes to become ready (default: as recorded, or 60s)",
    )
    for name, kind, metavar, text in (
        (
            "--kind",
            kind_pair,
            "NAME=KIND",
            "what a metric is: load, share (an average of the ready pods) or queue",
        ),
        (
            "--capacity",
            amount_pair,
            "NAME=QUANTITY",
            "how much of a load one ready replica serves (default: 9/7 of the current target)",
        ),
        (
            "--service-rate",
            amount_pair,
            "NAME=RATE",
            "items of a queue that one ready replica completes per second",
        ),
        (
            "--delay",
            seconds_pair,
            "NAME=DURATION",
            "delay of a metric: half of its rate() window plus a scrape interval (default: from its query, or 60s)",
        ),
    ):
        group.add_argument(
            name,
            type=kind,
            action="append",
            default=[],
            metavar=metavar,
            help=f"{text}; may be repeated",
        )
