"""Duration and repetition of the measurements."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from benchmarks.instruments.metric_kinds import MetricKind

Report = Callable[[str], None]
"""Prints progress."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of every benchmark."""

    rounds: int = 3
    seconds: float = 3.0  # of each turn of each program
    autoscalers: int | None = None  # None: each benchmark has its own default
    other_checkout: Path | None = None  # of Loadline, to compare with
    metrics: tuple[MetricKind, ...] = tuple(MetricKind)
    traces: Path | None = None  # directory of recorded loads
    concurrency: tuple[int, ...] = (1, 50)
    series: tuple[int, ...] = ()  # of the benchmark of discovery; empty: its own sizes
    programs: tuple[str, ...] = ()  # of the adapter benchmarks; empty: all
    loadline_flags: tuple[str, ...] = ()  # further flags of loadline-adapter
