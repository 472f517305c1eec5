"""The one place where the core meets the ports: a request -> its rule -> a question -> an evaluation -> the document.

Nothing here knows HTTP, and nothing is decided here that the pure stages can decide.
"""

from adapter.answer.answers import Answers
from adapter.answer.in_force import InForce

__all__ = ["Answers", "InForce"]
