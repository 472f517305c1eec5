"""What the exit codes of every command mean; docs/kubectl-plugin.md lists them for each. `wire.process.command_line.ending` has those of Ctrl-C and of closed pipes."""

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Something cannot be read or reached."""
WRONG: Final = 2
"""A flag, a file or the kubeconfig is wrong."""
FOUND: Final = 3
"""The command did its work, and the result is a problem, a difference, or that nothing can be proposed."""
