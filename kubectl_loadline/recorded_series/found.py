"""What a source of history found: the recorded series, and what their queries say about them."""

from collections.abc import Mapping

import msgspec

from kubectl_loadline.backtest.recording import Recording


class StartUp(msgspec.Struct, frozen=True):
    """How long a pod takes to become ready: in half of the cases, and in 95% of them."""

    median_seconds: float
    p95_seconds: float


class RecordedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """`queries`, `delays` (in seconds) and `ranges` of rate() are by the name of a metric; empty where they are not known."""

    recording: Recording
    queries: Mapping[str, str] = {}
    delays: Mapping[str, float] = {}
    ranges: Mapping[str, str] = {}
    start_up: StartUp | None = None
