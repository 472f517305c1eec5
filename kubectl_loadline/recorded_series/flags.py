"""The flags with which recorded series are chosen and read, of `kubectl loadline backtest` and `suggest`."""

import argparse
from pathlib import Path

from kubectl_loadline.recorded_series.found import StartUp
from scaler.algorithm.amounts import milli
from wire.api.duration import parse_duration, parse_prometheus_duration
from wire.process.command_line.parsing import (
    FlagParser,
    FlagSet,
    moment_unix_seconds,
    name_and_value,
)
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


def file_of(history: str) -> str:
    """The file of `[NAME=]FILE`."""
    return history.partition("=")[2] or history


def amount_pair(text: str) -> tuple[str, float]:
    """`NAME=QUANTITY`, above 0."""
    name, value = name_and_value(text)
    try:
        found = milli(value) / 1000
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if found <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} must be greater than 0")
    return name, found


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
        type=name_and_value,
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
