"""The libraries that only some commands need: for pages, pictures and progress. The programs, and their image, do without them."""

from importlib import import_module
from typing import Any

INSTALL = "pip install 'loadline-autoscaler[kubectl]'"


class MissingLibrary(ValueError):
    """A library of the extra `kubectl` is not installed; the message has the command."""


def require(module: str) -> Any:
    """Import a module. Raises `MissingLibrary`."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = {"jinja2": "Jinja2"}.get(module, module.partition(".")[0])
        raise MissingLibrary(f"{library} is not installed: run {INSTALL}") from error
