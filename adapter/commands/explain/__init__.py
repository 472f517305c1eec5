"""`loadline-adapter explain`: how a metric comes about, or why it does not."""

from adapter.commands.explain.command import main, parser

__all__ = ["main", "parser"]
