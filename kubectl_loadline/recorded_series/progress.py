"""A bar for each part of a long work, on a terminal only."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubectl_loadline.libraries import MissingLibrary, require
from kubectl_loadline.recorded_series.prometheus import Progress


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """Nothing is shown without a terminal, or without rich."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    try:
        library, console = require("rich.progress"), require("rich.console").Console(stderr=True)
    except MissingLibrary:
        yield lambda *_: None
        return
    with library.Progress(console=console, transient=True) as bars:
        yield _bars(bars)


def _bars(bars: Any) -> Progress:
    tasks: dict[str, Any] = {}

    def show(name: str, done: int, of: int) -> None:
        if name not in tasks:
            tasks[name] = bars.add_task(name, total=of)
        bars.update(tasks[name], completed=done, total=of)

    return show
