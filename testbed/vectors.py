"""Recorded vectors: one JSON document per line, compressed with xz.

`python -m testbed.vectors DIRECTORY...` compresses what a program of testbed/oracle has written there, and says how many
lines differ from those that were recorded before.
"""

import argparse
import lzma
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path


def lines(path: Path) -> list[bytes]:
    """Those of `path`, which is stored with the suffix `.xz`. Raises OSError."""
    return lzma.decompress(compressed(path).read_bytes()).splitlines()


def store(path: Path, found: Iterable[bytes]) -> None:
    """Replace the lines of `path`."""
    content = b"".join(line + b"\n" for line in found)
    compressed(path).write_bytes(lzma.compress(content, preset=9))


def compressed(path: Path) -> Path:
    """Where the vectors of `path` are stored."""
    return path.with_name(f"{path.name}.xz")


def compress(path: Path) -> str:
    """Replace a plain file by its compressed form. Returns what has changed."""
    new = path.read_bytes().splitlines()
    before = Counter(lines(path) if compressed(path).exists() else ())
    after = Counter(new)
    store(path, new)
    path.unlink()
    added, removed = (after - before).total(), (before - after).total()
    return f"{path.name}: {after.total()} lines, {added} added, {removed} removed"


def main(arguments: Sequence[str] | None = None) -> int:
    """Compress all plain files of some directories."""
    parser = argparse.ArgumentParser(prog="python -m testbed.vectors", description=__doc__)
    parser.add_argument("directories", nargs="+", type=Path)
    for directory in parser.parse_args(arguments).directories:
        for path in sorted(directory.glob("*.jsonl")):
            print(compress(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
