"""The paths of the debug endpoints of both programs."""

from typing import Final

EXPLAIN: Final = "/debug/explain"
"""Of the adapter: how the value of a metric is computed; its parameter `path` is that of a GET of the metric."""
DECISIONS: Final = "/debug/decisions"
"""Of the scaler: `/debug/decisions/NAMESPACE/NAME` is the last decision on an autoscaler."""
