"""The libraries that only history needs. They are not installed in the image: `pip install 'loadline-autoscaler[history]'`."""

from importlib import import_module
from typing import Any

INSTALL = "pip install 'loadline-autoscaler[history]'"


class MissingExtra(ValueError):
    """A library of the extra `history` is not installed; the message has the command."""


def require(module: str) -> Any:
    """Import a module. Raises `MissingExtra`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        raise MissingExtra(f"{library} is not installed: run {INSTALL}") from error
