"""Files that a command writes are neither those that it reads, nor those in which a user keeps something else."""

import contextlib
import errno
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

import yaml

from wire.process import go_yaml


class UnusableOutput(ValueError):
    """A file cannot be written; the message has its name."""


class OverwrittenFile(UnusableOutput):
    """A command would replace what is in a file; the message has the flag."""


@contextlib.contextmanager
def writing(file: Path) -> Iterator[Path]:
    """The file, in directories that exist from now on. Raises `UnusableOutput` in place of an `OSError` of the writer."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        yield file
    except OSError as error:
        is_a_file = isinstance(error, FileExistsError)
        cause = os.strerror(errno.ENOTDIR) if is_a_file else error.strerror
        raise UnusableOutput(f"{file} cannot be written: {cause}") from error


def keep_files(inputs: Iterable[Path | str | None], outputs: Mapping[str, Path | None]) -> None:
    """Raises `OverwrittenFile` if one of the `outputs`, by their flags, is also an input or another output, by any name."""
    read = [Path(each) for each in inputs if each is not None and Path(each).is_file()]
    written = {
        flag: output
        for flag, output in outputs.items()
        if output is not None and (output.is_file() or not output.exists())
    }
    for flag, output in written.items():
        if output.is_file() and any(map(output.samefile, read)):
            raise OverwrittenFile(f"{flag}={output} is also an input: write to another file")
    for (one, first), (other, second) in combinations(written.items(), 2):
        if _is_same(first, second):
            raise OverwrittenFile(
                f"{one}={first} and {other}={second} are the same file: name another one"
            )


def keep_other_keys(flag: str, file: Path | None, written: Collection[str]) -> None:
    """Raises `OverwrittenFile` for a YAML file with other keys than the command writes, such as `rules.metrics`.

    A file of an earlier run has none, so the command can be repeated.
    """
    if file is None or not file.is_file():
        return
    try:
        documents = [
            each for each in go_yaml.load_all(file.read_text("utf-8-sig")) if each is not None
        ]
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        documents = [""]
    if not all(isinstance(each, dict) for each in documents):
        raise OverwrittenFile(
            f"{flag}={file} is something else than the command writes: name a new file"
        )
    others = [key for each in documents for key in _other_keys(each, written)]
    if others:
        raise OverwrittenFile(
            f"{flag}={file} has {', '.join(others)}, which the command does not write: name a new file"
        )


def _is_same(first: Path, second: Path) -> bool:
    if first.is_file() and second.is_file():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def _other_keys(
    document: Mapping[object, object], written: Collection[str], within: str = ""
) -> Iterator[str]:
    for name, value in document.items():
        key = f"{within}{name}"
        if isinstance(value, dict) and any(each.startswith(f"{key}.") for each in written):
            yield from _other_keys(value, written, f"{key}.")
        elif key not in written:
            yield key
