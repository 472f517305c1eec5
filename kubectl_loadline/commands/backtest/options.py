"""The flags of `kubectl loadline backtest`, and what they are read to."""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

from kubectl_loadline.backtest.comparison import ORACLE, PRESENT, RECORDED
from kubectl_loadline.backtest.metric_kinds import MetricKind
from kubectl_loadline.recorded_series.found import StartUp
from scaler.algorithm.amounts import milli
from wire.api.duration import parse_duration, parse_prometheus_duration
from wire.process.command_line.parsing import FlagParser, FlagSet, moment_unix_seconds
from wire.prometheus.access_flags import header

STEP_SECONDS_MAX = 60


def seconds(text: str) -> float:
    """`14d` or `1h30m`, more than 0."""
    for parse in (parse_prometheus_duration, parse_duration):
        try:
            found = parse(text)
        except ValueError:
            continue
        if found > 0:
            return found
    raise argparse.ArgumentTypeError(f"{text!r} is not a duration above 0, such as 14d, 36h or 60s")


def whole_seconds(text: str) -> int:
    """A duration of at least one second, without a fraction."""
    found = seconds(text)
    if found != int(found):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of seconds")
    return int(found)


def step_seconds(text: str) -> int:
    """At most a minute: an autoscaler decides every 15 s, and its policies have periods of that length."""
    found = whole_seconds(text)
    if found > STEP_SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is longer than {STEP_SECONDS_MAX} s")
    return found


def start_up(text: str) -> StartUp:
    """`45s`, or `45s,2m` for median and 95th percentile."""
    first, comma, second = text.partition(",")
    found = StartUp(seconds(first), seconds(second if comma else first))
    if found.p95_seconds < found.median_seconds:
        raise argparse.ArgumentTypeError(f"{text!r}: the 95th percentile is less than the median")
    return found


def pair(text: str) -> tuple[str, str]:
    """`NAME=VALUE`."""
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name, value


def file_of(history: str) -> str:
    """The file of `[NAME=]FILE`."""
    return history.partition("=")[2] or history


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
    name, kind = pair(text)
    if kind not in list(MetricKind):
        raise argparse.ArgumentTypeError(f"{kind!r} is not one of {', '.join(MetricKind)}")
    return name, kind


def amount_pair(text: str) -> tuple[str, float]:
    """`NAME=QUANTITY`, above 0."""
    name, value = pair(text)
    try:
        found = milli(value) / 1000
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if found <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be greater than 0")
    return name, found


def seconds_pair(text: str) -> tuple[str, float]:
    """`NAME=DURATION`."""
    name, value = pair(text)
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


def add_history_flags(parser: FlagParser) -> None:
    """Which time, and where the recorded series are read."""
    group = parser.group("history")
    group.add_argument(
        "--since",
        type=seconds,
        metavar="DURATION",
        help="how far back, such as 14d (default: 14d, or the whole file)",
    )
    group.add_argument(
        "--until",
        type=moment_unix_seconds,
        metavar="TIME",
        help="end of the time range, in UTC unless it has an offset (default: now, or the end of the file)",
    )
    group.add_argument(
        "--step",
        type=step_seconds,
        default=STEP_SECONDS_MAX,
        metavar="DURATION",
        help="time between two decisions, in whole seconds, at most 60s (default 60s)",
    )
    group.add_argument(
        "--history",
        metavar="[NAME=]FILE",
        action="append",
        default=[],
        help="CSV with a column for each series, or with NAME= a JSON response of query_range; instead of Prometheus (may be repeated)",
    )
    _add_prometheus_flags(group)
    group.add_file("--save-history", help="write the series that were read to this CSV file")


def _add_prometheus_flags(group: FlagSet) -> None:
    group.add_argument(
        "--prometheus-url", default="", metavar="URL", help="URL of the Prometheus HTTP API"
    )
    group.add_argument(
        "--prometheus-header",
        type=header,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="header to send with every request; may be repeated",
    )
    group.add_file("--prometheus-token-file", help="file with a bearer token")
    group.add_file(
        "--prometheus-ca-file",
        help="file with the CA certificates to verify Prometheus' certificate with",
    )
    group.add_argument(
        "--query",
        type=pair,
        action="append",
        default=[],
        metavar="NAME=PROMQL",
        help="query of a series; NAME is the name of a metric, NAME/completions, replicas or ready_replicas; may be repeated",
    )
    group.add_file(
        "--explanation",
        help="output of `kubectl loadline explain NAME -o json`, which has the queries of the adapter",
    )
    group.add_argument(
        "--cache",
        type=Path,
        metavar="DIRECTORY",
        help="cache directory for whole days of samples (default: $XDG_CACHE_HOME/loadline/history)",
    )


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
