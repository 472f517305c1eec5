"""A small file that something else replaces: a token, a CA bundle, a certificate, a configuration.

Kubernetes rewrites mounted Secrets, ConfigMaps and projected tokens (by swapping a symlink), so a
program that reads them once fails hours later. The file is checked on every use (one `stat`, two
microseconds) and read when it changed. No inotify: the swap happens two folders up, and a network
file system sends no events.
"""

import os
from pathlib import Path


class FollowedFile:
    """The newest readable content of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.generation = 0
        """Rises by one whenever the content has changed; 0: never read."""
        self.problem: str | None = None
        """Why the last check failed; None if it succeeded."""
        self._stat: tuple[int, ...] = ()
        self._content = b""

    def read(self) -> bytes:
        """The content now. A file that vanished keeps its last content; one never read raises `OSError`."""
        try:
            found = os.stat(self.path)  # noqa: PTH116 - Path.stat costs four times as much on a hot path
            # The change time too: a copy that keeps its source's time and size is still another file.
            stat = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
            if stat != self._stat:
                self._take(self.path.read_bytes())
                self._stat = stat
        except OSError as error:
            self.problem = str(error)
            # A Secret is briefly absent while it is swapped; the old content is still the best known.
            if not self._stat:
                raise
        else:
            self.problem = None
        return self._content

    def _take(self, content: bytes) -> None:
        if self.generation == 0 or content != self._content:
            self._content = content
            self.generation += 1


def generations(*files: FollowedFile | None) -> tuple[int, ...]:
    """Check each file; the result differs from the last one when any content has. Raises `OSError`."""
    for file in files:
        if file is not None:
            file.read()
    return tuple(file.generation for file in files if file is not None)
