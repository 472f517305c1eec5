"""`loadline-adapter explain`: how a metric comes about, or why it does not."""

from adapter.commands.explain.command import explain

__all__ = ["explain"]
