"""The cache of built programs, outside every checkout and shared by concurrent builds."""

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
    """Hold the exclusive lock on building `name`. When another process holds it, `on_wait` is called once with a message.

    The kernel releases the lock when its holder ends, so a killed build never blocks the next one.
    """
    path = root() / "locks" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            on_wait(f"process {lock.read().strip() or 'unknown'} is building it; waiting")
            fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def kept(name: str, file: str, content: Callable[[], bytes]) -> Path:
    """The path of `file` in the cache. Where it is missing, it is written with `content()`, under the lock of `name`."""
    path = root() / file
    if not path.is_file():
        with locked(name, on_wait=print), published(path) as unfinished:
            unfinished.write_bytes(content())
    return path


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """Yield a temporary path next to `target`; it is renamed to `target` when the block succeeds.

    Readers never see a partial file. The caller must hold the lock of what is being built.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    try:
        yield unfinished
        unfinished.rename(target)
    finally:
        unfinished.unlink(missing_ok=True)
