"""The one place where the core meets the ports: request -> rule -> metric query -> evaluation -> document.

Nothing here knows HTTP, and nothing is decided here that the pure stages can decide.
"""

from adapter.answer.active_configuration import ActiveConfiguration
from adapter.answer.answering import Answers

__all__ = ["ActiveConfiguration", "Answers"]
