"""A small file that somebody else replaces: a token, a CA bundle, a certificate.

Kubernetes rewrites mounted Secrets and projected tokens in place (by swapping a symlink), so a program that reads
them once fails hours later. The file is looked at on every use (one `stat`, two microseconds) and read when it changed.
"""

import os
from pathlib import Path


class FreshFile:
    """The newest readable content of a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._content = b""
        self.generation = 0
        """Rises by one whenever the content was read anew."""

    def read(self) -> bytes:
        """The content now. A file that vanished keeps its last content; one never read raises `OSError`."""
        try:
            found = os.stat(self.path)  # noqa: PTH116  # Path.stat costs four times as much on a hot path
            seen = (found.st_mtime_ns, found.st_size, found.st_ino)
            if seen != self._seen:
                self._content = self.path.read_bytes()
                self._seen = seen
                self.generation += 1
        except OSError:
            # A Secret is briefly absent while it is swapped; the old content is still the best known.
            if self._seen is None:
                raise
        return self._content
