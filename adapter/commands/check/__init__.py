"""`loadline-adapter check FILE`: every fault of a configuration at once, for people and for CI."""

from adapter.commands.check.command import main, parser

__all__ = ["main", "parser"]
