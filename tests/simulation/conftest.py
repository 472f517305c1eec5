"""A simulated SIGKILL closes nothing, as a real one: what a killed process leaves behind is collected without a warning."""

import gc
import logging
from collections.abc import Iterator

import pytest

LEFT_BEHIND = pytest.mark.filterwarnings("ignore:Unclosed client session:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """For the tests of this directory."""
    for item in items:
        if "tests/simulation/" in item.path.as_posix():
            item.add_marker(LEFT_BEHIND)


@pytest.fixture(autouse=True)
def killed_processes_are_collected() -> Iterator[None]:
    """Before another test, which does not expect it, would do so."""
    yield
    logging.disable()
    gc.collect()
    logging.disable(logging.NOTSET)
