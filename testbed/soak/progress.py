"""The next number of each source, in `progress.json`: no soak repeats the seeds of another one."""

from pathlib import Path
from typing import Final

import msgspec

from testbed.soak.schedule import Source

RECORDED: Final = Path(__file__).with_name("progress.json")


class Progress:
    """By the name of the source."""

    def __init__(self, path: Path = RECORDED) -> None:
        self._path = path
        self._next: dict[str, int] = {}
        if path.exists():
            self._next = msgspec.json.decode(path.read_bytes(), type=dict[str, int])

    def first(self, source: Source) -> int:
        """The number with which its next turn begins."""
        return self._next.get(source.name, source.first)

    def done(self, source: Source, first: int) -> None:
        """A turn that began with this number has ended by itself."""
        self._next[source.name] = first + source.numbers
        ordered = dict(sorted(self._next.items()))
        self._path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered)) + b"\n")
