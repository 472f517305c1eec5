"""How long and how often to measure."""

from collections.abc import Callable

import msgspec

Report = Callable[[str], None]
"""Progress, for whoever waits."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The same for every question."""

    rounds: int = 3
    seconds: float = 3.0  # each turn of each program
    autoscalers: int = 200
    concurrency: tuple[int, ...] = (1, 50)
