"""Where built programs lie, outside every checkout, and how several builders share that place."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def root() -> Path:
    """`$LOADLINE_CACHE`, else `$XDG_CACHE_HOME/loadline`, else `~/.cache/loadline`."""
    if named := os.environ.get("LOADLINE_CACHE"):
        return Path(named).expanduser().resolve()
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "loadline"


@contextmanager
def locked(name: str, *, on_wait: Callable[[str], None]) -> Iterator[None]:
    """Be the only process that makes `name`; `on_wait` is told once, and by whom, when another one is.

    The kernel drops the lock with its holder, so a killed builder never blocks the next one.
    """
    path = root() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            on_wait(f"process {lock.read().strip() or 'unknown'} is making it; waiting for that")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """Yield a path beside `target` to write to; it becomes `target` in one step when the block succeeds.

    Nobody ever sees half a file. Hold the lock of what is being made.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        yield unfinished
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
