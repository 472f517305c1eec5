"""Recorded series in files: CSV with a column for each series, and responses of Prometheus' query_range as JSON."""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from kubectl_loadline.backtest.recording import READY_REPLICAS, REPLICAS
from kubectl_loadline.backtest.series import Series
from kubectl_loadline.terminal.output_files import writing
from kubectl_loadline.terminal.unread_file import unread_file
from wire.prometheus.query_api import numbers

_END_SECONDS: Final = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
_GAP_SECONDS_MAX: Final = 366 * 86_400.0

Samples = list[tuple[float, float]]


class UnusableSeries(ValueError):
    """A file with recorded series cannot be used; the message has its name and the fix."""


def read_csv(file: Path, *, only_metric: str = "") -> dict[str, Samples]:
    """The samples of each column after the first, which has the time (Unix seconds, or RFC 3339).

    A file with a single series that is neither `replicas` nor `ready_replicas` may name it as it likes: it is
    `only_metric`, if that is given. Empty cells are left out. Raises `UnusableSeries`.
    """
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnusableSeries(unread_file(file, error)) from error
    if len(rows) < 2 or len(rows[0]) < 2:
        raise UnusableSeries(
            f"{file}: it needs a header and rows: time, then a column for each series"
        )
    names = _names(rows[0][1:], only_metric)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise UnusableSeries(
            f"{file}: line 1: the column {twice[0]} occurs more than once: name each series once"
        )
    found: dict[str, Samples] = {name: [] for name in names}
    for number, row in enumerate(rows[1:], 2):
        try:
            at = _unix_seconds(row[0])
            for name, cell in zip(names, row[1:], strict=False):
                if cell:
                    found[name].append((at, _value(name, cell)))
        except ValueError as error:
            raise UnusableSeries(f"{file}: line {number}: {error}") from error
    _check_gaps(file, {at for samples in found.values() for at, _ in samples})
    return {name: sorted(samples) for name, samples in found.items()}


def read_range(file: Path) -> Samples:
    """The sum of all series of a response of /api/v1/query_range. Raises `UnusableSeries`."""
    try:
        document = msgspec.json.decode(file.read_text("utf-8-sig"))
        result = document.get("data", document)["result"]
        return summed(numbers(each["values"]) for each in result)
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableSeries(unread_file(file, error)) from error
    except (
        msgspec.DecodeError,
        LookupError,
        TypeError,
        ValueError,
        AttributeError,
    ) as error:
        raise UnusableSeries(
            f"{file}: it is not a response of Prometheus' /api/v1/query_range: {error}"
        ) from error


def summed(series: Iterable[Mapping[float, float]]) -> Samples:
    """The sum at each time."""
    totals: dict[float, float] = {}
    for samples in series:
        for at, value in samples.items():
            totals[at] = totals.get(at, 0.0) + value
    return sorted(totals.items())


def write_csv(file: Path, series: Mapping[str, Series]) -> None:
    """What `read_csv` reads. Raises `UnusableOutput`."""
    steps = min(each.step_seconds for each in series.values())
    start = min(each.start_unix_seconds for each in series.values() if each.values)
    end = max(each.end_unix_seconds for each in series.values())
    with writing(file), file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines)
        writer.writerow(["unix_seconds", *series])
        for at in range(start, end, steps):
            values = [each.at(at) for each in series.values()]
            writer.writerow([at, *("" if value is None else repr(value) for value in values)])


def _names(header: Sequence[str], only_metric: str) -> list[str]:
    names = [each.strip() for each in header]
    metrics = [each for each in names if each not in (REPLICAS, READY_REPLICAS)]
    if only_metric and len(metrics) == 1:
        return [only_metric if each == metrics[0] else each for each in names]
    return names


def _value(column: str, cell: str) -> float:
    """Raises ValueError, also for a negative number of replicas; a metric may be negative."""
    value = float(cell)
    if value < 0 and column in (REPLICAS, READY_REPLICAS):
        raise ValueError(f"the column {column} has {cell}, which is less than 0")
    return value


def _unix_seconds(text: str) -> float:
    """Raises ValueError."""
    try:
        seconds = float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if 0 <= seconds < _END_SECONDS:
        return seconds
    raise ValueError(
        f"the time {text} is not a number of Unix seconds before the year 2100: divide milliseconds by 1000"
    )


def _check_gaps(file: Path, times: Iterable[float]) -> None:
    """Raises `UnusableSeries` for a gap that a replay would need hundreds of thousands of steps for."""
    for before, after in pairwise(sorted(times)):
        if after - before > _GAP_SECONDS_MAX:
            raise UnusableSeries(
                f"{file}: the times {before:.0f} and {after:.0f} are more than a year apart: remove the rows with a wrong time"
            )
