"""HorizontalPodAutoscalers and KEDA's ScaledObjects to LoadAutoscalers. Pure: objects in, objects and remarks out."""

from scaler.migration.comparison import Comparison, compare
from scaler.migration.conversion import Converted, Remark, Unconvertible
from scaler.migration.horizontal_pod_autoscaler import from_hpa
from scaler.migration.scaled_object import from_scaled_object

__all__ = [
    "Comparison",
    "Converted",
    "Remark",
    "Unconvertible",
    "compare",
    "from_hpa",
    "from_scaled_object",
]
