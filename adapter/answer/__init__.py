"""The one place where the core meets the ports: request -> rule -> metric query -> evaluation -> document.

Nothing here knows HTTP, and nothing is decided here that the pure stages can decide.
"""

from adapter.answer.active_configuration import ActiveConfiguration
from adapter.answer.answering import Answers
from adapter.answer.metric_paths import KnownRequest, MetricPaths

__all__ = ["ActiveConfiguration", "Answers", "KnownRequest", "MetricPaths"]
