"""When a test that waits for something gives up."""

from typing import Final

DEADLINE_SECONDS: Final = 60.0
"""Far beyond what a busy machine needs, so that only a defect reaches it. Tests about a deadline have their own."""
