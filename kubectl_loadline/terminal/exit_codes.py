"""What the exit codes of every command mean; docs/kubectl-plugin.md lists them for each."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Something cannot be read or reached."""
WRONG: Final = 2
"""A flag, a file or the kubeconfig is wrong."""
FOUND: Final = 3
"""The command did its work, and the result is a problem, a difference, or that nothing can be proposed."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells report SIGINT (128 + 2)."""
PIPE_CLOSED: Final = 141
"""The reader of stdout has gone, as shells report SIGPIPE (128 + 13)."""
