"""Reads the vectors that testbed/oracle/adapter wrote by running prometheus-adapter's own code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from testbed.vectors import lines

_HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def rows() -> Callable[[str, Any], list[Any]]:
    """`rows(file, type)`: the rows of one file of vectors, decoded."""

    def read(name: str, row_type: Any) -> list[Any]:
        decoder = msgspec.json.Decoder(row_type)
        return [decoder.decode(line) for line in lines(_HERE / name)]

    return read
