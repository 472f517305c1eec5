"""What tests found, for the end of the output: also from the worker processes of pytest-xdist, which cannot print."""

from collections.abc import Iterable, Iterator
from typing import Final

import pytest

SUMMARY: Final = "summary"
"""The name of the property (`record_property`) whose values are printed; they are in the JUnit file, too."""


def summaries(reports: Iterable[object]) -> Iterator[str]:
    """Those of the tests that ran."""
    for report in reports:
        if isinstance(report, pytest.TestReport) and report.when == "call":
            yield from (str(value) for name, value in report.user_properties if name == SUMMARY)
