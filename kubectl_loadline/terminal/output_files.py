"""Files that a command writes are not those that it reads."""

from collections.abc import Iterable, Mapping
from pathlib import Path


class OverwrittenInput(ValueError):
    """A command would write to a file that it reads; the message has the flag."""


def keep_inputs(inputs: Iterable[Path | str | None], outputs: Mapping[str, Path | None]) -> None:
    """Raises `OverwrittenInput` if one of the `outputs`, by their flags, is also an input, by any name."""
    read = [Path(each) for each in inputs if each is not None and Path(each).is_file()]
    for flag, output in outputs.items():
        if output is not None and output.is_file() and any(map(output.samefile, read)):
            raise OverwrittenInput(f"{flag}={output} is also an input: write to another file")
